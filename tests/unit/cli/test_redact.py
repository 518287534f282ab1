"""`redoma redact` as people and pipes use it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.running import START, run

SECRET = b"one\nDB_PASSWORD=hunter2 ./run\nthree\n"


def test_a_filter_writes_all_but_the_secret() -> None:
    done = run("redact", stdin=SECRET)
    assert (done.status, done.out, done.err) == (
        0,
        "one\nDB_PASSWORD=[REDACTED] ./run\nthree\n",
        "",
    )


def test_a_line_comes_out_before_the_input_ends() -> None:
    with subprocess.Popen(
        [*START, "redact"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as filtering:
        assert filtering.stdin is not None
        assert filtering.stdout is not None
        filtering.stdin.write(b"PASSWORD=hunter2\nPASS")
        filtering.stdin.flush()
        assert os.read(filtering.stdout.fileno(), 4096) == b"PASSWORD=[REDACTED]\n"
        filtering.stdin.write(b"WORD=hunter2")
        filtering.stdin.close()
        assert filtering.stdout.read() == b"PASSWORD=[REDACTED]"
    assert filtering.returncode == 0


def test_files_are_read_one_after_another(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(SECRET)
    (tmp_path / "b").write_bytes(b"\xff no end of line, token=abc123def456")
    done = subprocess.run(
        [*START, "redact", "a", "-", "b"],
        cwd=tmp_path,
        input=b"-\n",
        capture_output=True,
        check=True,
    )
    assert done.stdout == (
        b"one\nDB_PASSWORD=[REDACTED] ./run\nthree\n-\n\xff no end of line, token=[REDACTED]"
    )


@pytest.mark.parametrize("text, status", [(SECRET, 1), (b"nothing here\n", 0)])
def test_a_check_exits_with_one_if_there_is_a_secret(text: bytes, status: int) -> None:
    done = run("redact", "--check", stdin=text)
    assert (done.status, done.out) == (status, "-:2: password\n" if status else "")


def test_the_report_says_where_and_what_kind_and_not_what() -> None:
    done = run("redact", "--json", stdin=SECRET)
    assert done.status == 0
    assert json.loads(done.out) == {
        "clean": False,
        "found": [{"file": "-", "line": 2, "kind": "password"}],
    }
    assert run("redact", "--json", "--check", stdin=SECRET).status == 1


def test_the_callers_own_secrets_are_known_by_value_unless_told_otherwise() -> None:
    said = b"it said correct-horse\n"
    own = {"MY_TOKEN": "correct-horse"}
    assert run("redact", stdin=said, **own).out == "it said [REDACTED]\n"
    assert run("redact", "--no-environment", stdin=said, **own).out == "it said correct-horse\n"


def test_a_value_is_taken_from_a_variable_of_any_name() -> None:
    done = run(
        "redact", "--value-from", "A,B", stdin=b"x falcon y heron7\n", A="falcon", B="heron7"
    )
    assert done.out == "x [REDACTED] y [REDACTED]\n"
    missing = run("redact", "--value-from=A", stdin=b"x")
    assert (missing.status, missing.out) == (2, "")
    assert missing.err == "redoma: there is no variable A\nhint: export A=...\n"


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    done = run("redact", str(tmp_path / "none\x1b[2J"))
    assert done.status == 2
    assert "none\\x1b[2J: No such file or directory" in done.err
    assert run("redact", str(tmp_path)).status == 2


def test_a_file_name_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1b[2J").write_bytes(SECRET)
    done = run("redact", "--check", "a\nb\x1b[2J", cwd=tmp_path)
    assert done.out == "a\\nb\\x1b[2J:2: password\n"


def test_kinds_are_shown_when_asked_for() -> None:
    assert run("redact", "--kinds", stdin=SECRET).out.splitlines()[1] == (
        "DB_PASSWORD=[REDACTED:password] ./run"
    )
