"""`redoma check` as people, scripts and programs meet it."""

from __future__ import annotations

import json
import subprocess

import pytest

from redoma.cli.streams import MOST_BYTES
from tests.unit.cli.running import START, run

ALLOWED, ASKED, DENIED = "ls -la", "sudo apt update", "rm -rf /"


@pytest.mark.parametrize(("command", "status"), [(ALLOWED, 0), (ASKED, 10), (DENIED, 20)])
def test_the_exit_status_is_the_decision(command: str, status: int) -> None:
    done = run("check", command)
    assert (done.status, done.err) == (status, "")


def test_prose_goes_to_a_pipe_without_colour() -> None:
    done = run("check", DENIED)
    assert done.out.startswith("forbidden: denied  (policy ")
    assert "\n  rm -rf /\n         ^" in done.out
    assert "\x1b" not in done.out


def test_json_is_one_object_with_every_reason_and_its_part() -> None:
    done = run("check", "--json", f"true && {DENIED}")
    assert done.status == 20
    answer = json.loads(done.out)
    assert done.out.count("\n") == 1
    assert {key: answer[key] for key in ("cmd", "risk", "verdict", "pack", "allowed")} == {
        "cmd": f"true && {DENIED}",
        "risk": "forbidden",
        "verdict": "deny",
        "pack": "default",
        "allowed": False,
    }
    assert answer["requires_confirmation"] is False
    worst = answer["reasons"][0]
    assert worst.keys() == {
        *("rule", "effect", "risk", "reason", "span", "part", "targets", "alternative")
    }
    assert worst["effect"] == "deletes"
    start, end = worst["span"]
    assert answer["cmd"][start:end] == worst["part"]
    assert worst["part"] in DENIED


def test_what_needs_a_person_says_so_in_json() -> None:
    answer = json.loads(run("check", ASKED, "--json").out)
    assert (answer["verdict"], answer["allowed"]) == ("confirm", False)
    assert answer["requires_confirmation"] is True


def test_one_argument_is_shell_text_and_several_are_words() -> None:
    one = json.loads(run("check", "--json", "echo hi; ls").out)
    several = json.loads(run("check", "--json", "--", "echo", "hi; ls", "$(id)").out)
    assert one["cmd"] == "echo hi; ls"
    assert several["cmd"] == "echo 'hi; ls' '$(id)'"


def test_words_with_dashes_need_two_dashes_before_them() -> None:
    done = run("check", "rm", "-rf", "build")
    assert (done.status, done.out) == (2, "")
    assert "hint: quote the whole command, or put -- before it" in done.err


def test_a_dash_reads_the_command_from_standard_input() -> None:
    done = run("check", "--json", "-", stdin=b"echo hi\nls\n")
    assert json.loads(done.out)["cmd"] == "echo hi\nls"


def test_the_directory_can_be_another() -> None:
    here = json.loads(run("check", "--json", "--cwd", "/home/someone/p", "rm -rf build").out)
    above = json.loads(run("check", "--json", "--cwd", "/", "rm -rf etc").out)
    assert here["allowed"]
    assert not above["allowed"]


@pytest.mark.parametrize("pack", ["default", "terminal", "skill"])
def test_every_pack_denies_the_worst(pack: str) -> None:
    done = run("check", "--json", f"--pack={pack}", DENIED)
    answer = json.loads(done.out)
    assert (done.status, answer["pack"]) == (20, pack)


def test_an_unknown_pack_is_a_usage_error_that_names_the_packs() -> None:
    done = run("check", "--pack", "none", "ls")
    assert (done.status, done.out) == (2, "")
    assert (
        done.err == "redoma: there is no rule pack 'none'\nhint: packs: default, terminal, skill\n"
    )


@pytest.mark.parametrize("arguments", [[], [""], [" \n\t"], ["--"]], ids=str)
def test_nothing_to_judge_is_a_usage_error(arguments: list[str]) -> None:
    done = run("check", *arguments)
    assert (done.status, done.out) == (2, "")


def test_nothing_on_standard_input_is_a_usage_error() -> None:
    assert run("check", "-", stdin=b"\n").status == 2


@pytest.mark.parametrize(
    "text",
    [b"ls \xff", b"echo 'ls", b"ls \x00", b"$((", b"x" * 70_000, b"\xed\xa0\x80"],
    ids=["not UTF-8", "open quote", "NUL", "open sum", "too long", "surrogate"],
)
def test_what_cannot_be_read_is_a_finding_and_never_allowed(text: bytes) -> None:
    done = run("check", "--json", "-", stdin=text)
    answer = json.loads(done.out)
    assert done.status in (10, 20)
    assert answer["allowed"] is False
    assert answer["reasons"]


def test_bytes_that_are_no_text_are_refused_as_an_argument_too() -> None:
    done = run("check", b"ls \xff")
    assert done.status == 20
    assert "  ls \\xff\n     ^^^^" in done.out


def test_a_flood_on_standard_input_is_refused_unread() -> None:
    assert run("check", "-", stdin=b"x" * (MOST_BYTES + 1)).status == 2


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = " ".join(f"'{word}'" for word in START)
    done = subprocess.run(
        ["bash", "-c", f"{command} check --json 'rm -rf /' | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    # The decision where it was read in time; else what a shell says of SIGPIPE.
    assert done.stdout.strip() in ("20", "141")
