"""`redoma audit` shows what happened, one line each, and nothing that was made to look like it."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from redoma.audit.log import AuditLog
from redoma.model.event import Event, Kind
from tests.unit.audit.story import ended, judged, starting, tamper
from tests.unit.cli.running import START, Done, run

HOSTILE = {
    "line ends": "ls\n     9  2026-01-01T00:00:00.000000Z  judged  fake  allow  ls\r\n\v\f\x85\u2028x",
    "escapes": "ls \x1b[2K\x1b[1A\x1b]0;title\x07\x9b31m",
    "directions": "ls \u202etxt.exe\u2066\u200f\u061c",
    "a megabyte": "x" * 1_000_000 + " && rm -rf /",
    "no text": "ls \udcff\udc80",
    "invisible": "ls\u200b\u00ad\u3164\ufeff x",
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with AuditLog(str(tmp_path / "redoma" / "audit")) as record:
        record.append(judged(1, session="s1", caller="an agent", command="make"))
        record.append(starting("run-1", caller="an agent", session="s1"))
        record.append(ended("run-1", code=3))
    return tmp_path


def audit(state: Path, *arguments: str) -> Done:
    return run("audit", *arguments, XDG_STATE_HOME=str(state))


def test_a_list_has_a_line_for_each_entry(state: Path) -> None:
    done = audit(state, "list")
    first, second, third = done.out.splitlines()
    assert first.startswith("     1  20")
    assert first.endswith("  run-1  caller=an\\x20agent  session=s1  allow safe  make")
    assert "run-starting        run-1  caller=an\\x20agent  session=s1  make" in second
    assert third.endswith("run-ended           run-1  exited code 3")
    assert audit(state, "list", "--limit", "1").out == third + "\n"
    assert (
        audit(state, "list", "--caller", "an agent", "--kind", "run-starting").out == second + "\n"
    )


def test_json_says_the_same_for_programs(state: Path) -> None:
    listed = json.loads(audit(state, "list", "--json").out)
    exported = [json.loads(line) for line in audit(state, "export").out.splitlines()]
    assert listed == exported
    assert listed[2] == {
        "seq": 3,
        "at": listed[2]["at"],
        "kind": "run-ended",
        "run": "run-1",
        "session": "",
        "caller": "",
        "command": "",
        "digest": "",
        "details": {"outcome": "exited", "code": 3, "wall_seconds": 0.5},
        "link": listed[2]["link"],
    }


def test_one_entry_or_one_run_is_shown_whole(state: Path) -> None:
    shown = audit(state, "show", "1").out
    assert "command   make\n" in shown
    assert "  verdict: allow\n" in shown
    assert [entry["seq"] for entry in json.loads(audit(state, "show", "run-1", "--json").out)] == [
        1,
        2,
        3,
    ]
    missing = audit(state, "show", "99")
    assert (missing.status, missing.out) == (1, "")


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_command_draws_and_hides_nothing(tmp_path: Path, kind: str) -> None:
    text = HOSTILE[kind]
    with AuditLog(str(tmp_path / "redoma" / "audit")) as record:
        for number in range(3):
            record.append(
                Event(
                    kind=Kind.JUDGED,
                    run=text[:50],
                    session=text[:50],
                    caller=text[:50],
                    command=text,
                    details={"verdict": text[:50], text[:50]: text[:50], "n": number},
                )
            )
    for arguments in (("list",), ("tail",), ("export", "--format", "jsonl")):
        out = audit(tmp_path, *arguments).out
        assert len(out.splitlines()) == 3, arguments
        assert all(char == "\n" or char.isprintable() for char in out), arguments
        if "jsonl" not in arguments:
            assert max(map(len, out.splitlines())) < 4000
    csv.field_size_limit(2_000_000)
    rows = list(csv.reader(io.StringIO(audit(tmp_path, "export", "--format", "csv").out)))
    assert len(rows) == 4
    assert {len(row) for row in rows} == {10}
    shown = audit(tmp_path, "show", "2").out
    assert sum(line.startswith("entry ") for line in shown.splitlines()) == 1
    assert all(char == "\n" or char.isprintable() for char in shown)
    if kind == "a megabyte":
        assert "1000012 characters" in shown
        assert json.loads(audit(tmp_path, "show", "2", "--json").out)[0]["command"] == text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-2", "@SUM(A1)", "\t=1", "  =1", "＝1", '=1"; "x'])
def test_a_table_has_no_formulas(tmp_path: Path, text: str) -> None:
    with AuditLog(str(tmp_path / "redoma" / "audit")) as record:
        record.append(judged(1, command=text, caller=text))
    line = audit(tmp_path, "export", "--format", "csv").out.splitlines()[1]
    row = next(csv.reader([line]))
    assert row[5].startswith("'")
    assert row[6].startswith("'")
    assert row[0] == "1"


def test_verify_says_yes_and_gives_the_head_to_note(state: Path) -> None:
    done = audit(state, "verify")
    assert done.status == 0
    told, head = done.out.splitlines()
    assert told == "as it was written: 3 entries"
    noted = head.removeprefix("head ")
    assert audit(state, "verify", "--expect", noted).status == 0
    assert json.loads(audit(state, "verify", "--json").out) == {
        "ok": True,
        "entries": 3,
        "let_go": 0,
        "head": noted,
        "faults": [],
    }
    other = audit(state, "verify", "--expect", f"9:{noted.partition(':')[2]}")
    assert other.status == 1
    assert "truncated: the newest entries are gone: 4-9" in other.out


def test_verify_names_what_was_changed(state: Path) -> None:
    tamper(state / "redoma/audit", "UPDATE audit_log SET command = 'ls' WHERE seq = 1")
    done = audit(state, "verify")
    assert done.status == 1
    assert done.out.splitlines() == [
        "the audit log was changed",
        "changed: entry 1: it, or the link before it, is not as it was written",
    ]
    faults = json.loads(audit(state, "verify", "--json").out)["faults"]
    assert [(fault["wrong"], fault["entry"]) for fault in faults] == [("changed", 1)]


def test_stats_count_and_prometheus_reads_them(state: Path) -> None:
    assert "exit codes\n  3                        1\n" in audit(state, "stats").out
    counted = json.loads(audit(state, "stats", "--json").out)
    assert (counted["outcomes"], counted["exit_codes"]) == ({"exited": 1}, {"3": 1})
    assert 'redoma_exit_codes{code="3"} 1\n' in audit(state, "stats", "--prometheus").out


def test_an_empty_record_is_no_error(tmp_path: Path) -> None:
    assert audit(tmp_path, "list").out == ""
    assert audit(tmp_path, "list", "--json").out == "[]\n"
    verified = audit(tmp_path, "verify")
    assert (verified.status, verified.out) == (0, "the audit log is empty\n")
    assert audit(tmp_path, "stats").status == 0


def test_tail_follows(state: Path) -> None:
    # Where this run is in the background, interrupts are ignored by what it starts.
    start = ["env", "--default-signal=INT", *START]
    with subprocess.Popen(
        [*start, "audit", "tail", "-f", "--limit", "1", "--json"],
        stdout=subprocess.PIPE,
        env={"XDG_STATE_HOME": str(state), "PATH": "/usr/bin:/bin"},
        text=True,
    ) as following:
        try:
            assert following.stdout is not None
            assert json.loads(following.stdout.readline())["seq"] == 3
            with AuditLog(str(state / "redoma/audit")) as record:
                record.append(judged(4))
                assert json.loads(following.stdout.readline())["run"] == "run-4"
            following.send_signal(signal.SIGINT)
            assert following.wait(timeout=30) == 130
        finally:
            following.kill()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "usage: redoma audit list"),
        (("lst",), "no redoma audit 'lst'"),
        (("list", "--kind", "juged"), "no kind 'juged'"),
        (("list", "--limit", "0"), "--limit takes a number"),
        (("list", "--limit", "x"), "--limit takes a number"),
        (("list", "--since", "soon"), "--since takes a time"),
        (("list", "extra"), "takes no 'extra'"),
        (("show",), "takes one entry or run"),
        (("export", "--format", "xml"), "no format 'xml'"),
        (("verify", "--expect", "12"), "--expect takes ENTRY:LINK"),
        (("verify", "--session", "x"), "takes no --session"),
        (("stats", "--json", "--prometheus"), "do not go together"),
    ],
)
def test_what_is_not_understood_is_an_error(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = audit(tmp_path, *arguments)
    assert done.status == 2
    assert words in done.err


@pytest.mark.parametrize("times", [("1h", ""), ("", "2000-01-01"), ("2020-01-01T05:00+02:00", "")])
def test_times_are_moments_or_ages(state: Path, times: tuple[str, str]) -> None:
    since, until = times
    given = [*(["--since", since] if since else []), *(["--until", until] if until else [])]
    assert len(audit(state, "list", *given).out.splitlines()) == (3 if since else 0)


def test_a_record_of_others_is_not_shown(state: Path) -> None:
    (state / "redoma/audit/audit.db").chmod(0o644)
    done = audit(state, "list")
    assert (done.status, done.out) == (125, "")
    assert "open to others" in done.err
    assert "hint: chmod 600" in done.err


def test_a_place_for_the_key_that_does_not_exist_is_an_error(state: Path) -> None:
    done = run("audit", "verify", XDG_STATE_HOME=str(state), REDOMA_AUDIT_KEY="usb-stick")
    assert done.status == 2
    assert "REDOMA_AUDIT_KEY cannot be" in done.err
    assert "hint: one of: file, keychain" in done.err


def test_a_broken_pipe_is_quiet(state: Path) -> None:
    with AuditLog(str(state / "redoma/audit"), keep=None) as record:
        record.append(*(judged(number, command="x" * 1000) for number in range(500)))
    read, write = os.pipe()
    with subprocess.Popen(
        [*START, "audit", "export"],
        stdout=write,
        stderr=subprocess.PIPE,
        env={"XDG_STATE_HOME": str(state), "PATH": "/usr/bin:/bin"},
    ) as exporting:
        os.close(write)
        time.sleep(0.05)
        os.close(read)
        assert exporting.communicate(timeout=30)[1] == b""
