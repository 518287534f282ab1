"""`redoma check --jsonl`: every line has its answer, in order and at once."""

from __future__ import annotations

import json
import subprocess

from redoma.cli.streams import MOST_BYTES
from tests.unit.cli.running import START, run


def answers(*lines: bytes, **options: str) -> tuple[int, list[dict[str, object]]]:
    given = [f"--{name}={value}" for name, value in options.items()]
    done = run("check", "--jsonl", *given, stdin=b"".join(line + b"\n" for line in lines))
    assert done.err == ""
    return done.status, [json.loads(line) for line in done.out.splitlines()]


def test_strings_and_objects_are_answered_in_order() -> None:
    status, found = answers(b'"ls"', b'{"cmd": "rm -rf /"}', b'{"cmd": "pwd", "note": 1}')
    assert status == 0
    assert [(one["cmd"], one["risk"], one["verdict"]) for one in found] == [
        ("ls", "safe", "allow"),
        ("rm -rf /", "forbidden", "deny"),
        ("pwd", "safe", "allow"),
    ]
    assert all(isinstance(why, str) for one in found for why in one["reasons"])
    assert found[1]["reasons"]


def test_a_bad_line_is_denied_in_its_place_and_the_rest_goes_on() -> None:
    bad = [
        *(b"", b"ls", b"3", b"null", b'{"cmd": 3}', b'{"command": "ls"}', b'{"cmd": " "}'),
        *(b'{"cmd": "ls", "pack": "none"}', b'{"cmd": "ls", "cwd": []}', b'"\xff"', b"[" * 5000),
        b'"' + b"x" * MOST_BYTES + b'"',
    ]
    status, found = answers(*bad, b'"ls"')
    assert status == 2
    assert len(found) == len(bad) + 1
    for one in found[:-1]:
        assert one["verdict"] == "deny"
        assert one["error"]
    assert found[-1]["verdict"] == "allow"
    assert "error" not in found[-1]


def test_a_line_may_name_its_own_pack_and_directory() -> None:
    _, found = answers(
        b'{"cmd": "sudo apt update", "pack": "skill"}',
        b'{"cmd": "rm -rf build", "cwd": "/home/someone/p"}',
        b'{"cmd": "rm -rf etc", "cwd": "/"}',
    )
    assert found[0]["verdict"] == "deny"
    assert found[1]["verdict"] in ("allow", "log")
    assert found[2]["verdict"] in ("confirm", "deny")


def test_text_that_is_not_utf8_is_denied() -> None:
    status, found = answers(rb'"ls \udcff"')
    assert (status, found[0]["verdict"]) == (0, "deny")


def test_a_wrong_pack_on_the_command_line_is_one_error() -> None:
    done = run("check", "--jsonl", "--pack=none", stdin=b'"ls"\n"ls"\n')
    assert (done.status, done.out) == (2, "")


def test_commands_beside_a_stream_are_a_usage_error() -> None:
    assert run("check", "--jsonl", "ls").status == 2


def test_an_answer_comes_before_the_next_line_is_read() -> None:
    with subprocess.Popen(
        [*START, "check", "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        for command in ("ls", "pwd"):
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["cmd"] == command
        process.stdin.close()
        assert process.wait(timeout=30) == 0
