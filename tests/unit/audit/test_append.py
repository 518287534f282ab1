"""What is appended is there, whole, in order and for nobody else to read."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from redoma.audit.entries import AuditEntry
from redoma.audit.log import AuditLog
from redoma.audit.verification import verify
from redoma.model.errors import RecordUnavailable
from redoma.model.event import Event, Kind
from tests.unit.audit.story import ended, entries, judged, starting


def test_an_event_is_kept_as_it_was_given(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    event = Event(
        kind=Kind.ANSWERED,
        run="k3x9",
        session="s1",
        caller="an agent",
        command="rm -r build  # ünïcode",
        details={"choice": "deny", "n": [1, 2.5, None, True], "deep": {"é": "\x00\udc80"}},
    )
    assert record.append(event) == 1
    (entry,) = entries(tmp_path / "audit")
    assert entry == AuditEntry(
        seq=1,
        at=entry.at,
        kind="answered",
        run="k3x9",
        session="s1",
        caller="an agent",
        command="rm -r build  # ünïcode",
        digest="",
        details=json.dumps(event.details, separators=(",", ":")),
        link=entry.link,
    )
    assert entry.facts() == event.details


def test_events_that_are_appended_together_are_there_together_or_not_at_all(
    tmp_path: Path,
) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    assert record.append(judged(1), judged(2), judged(3)) == 3
    with pytest.raises(TypeError):
        record.append(judged(4), Event(kind=Kind.JUDGED, run="x", details={"bad": object()}))
    assert [entry.run for entry in entries(tmp_path / "audit")] == ["run-1", "run-2", "run-3"]
    assert record.append(judged(4)) == 4
    assert verify(str(tmp_path / "audit")).ok


def test_text_that_sqlite_cannot_keep_is_kept_by_its_numbers(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    record.append(judged(1, command="cat a\x00b \udcff"))
    assert entries(tmp_path / "audit")[0].command == "cat a\\x00b \\udcff"
    assert verify(str(tmp_path / "audit")).ok


def test_a_megabyte_of_command_is_kept_whole(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    command = "echo " + "x" * 1_000_000 + " && touch /tmp/hidden-at-the-end"
    record.append(judged(1, command=command))
    assert entries(tmp_path / "audit")[0].command == command


def test_secrets_are_taken_out_before_anything_is_written(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        return text.replace("hunter2", "[secret]")

    record = AuditLog(str(tmp_path / "audit"), redact=redact)
    record.append(
        Event(
            kind=Kind.RUN_STARTING,
            run="a",
            command="login hunter2",
            details={"argv": ["login", {"with hunter2": "hunter2"}]},
        )
    )
    record.close()
    (entry,) = entries(tmp_path / "audit")
    assert entry.command == "login [secret]"
    assert entry.facts() == {"argv": ["login", {"with [secret]": "[secret]"}]}
    for file in (tmp_path / "audit").iterdir():
        assert b"hunter2" not in file.read_bytes()


def test_what_cannot_be_redacted_is_not_written(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        raise RuntimeError(text)

    record = AuditLog(str(tmp_path / "audit"), redact=redact)
    with pytest.raises(RecordUnavailable) as caught:
        record.append(judged(1, command="login hunter2"))
    assert caught.value.exit_status == 125
    assert "hunter2" not in str(caught.value)
    assert entries(tmp_path / "audit") == []


def test_nobody_else_can_read_the_record(tmp_path: Path) -> None:
    directory = tmp_path / "state" / "audit"
    record = AuditLog(str(directory))
    record.append(judged(1))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in directory.iterdir()}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert modes == dict.fromkeys(
        ("audit.db", "audit.db-shm", "audit.db-wal", "audit.head", "audit.key"), 0o600
    )
    record.close()


def test_looking_at_a_record_that_is_not_there_makes_none(tmp_path: Path) -> None:
    AuditLog(str(tmp_path / "audit"))
    assert entries(tmp_path / "audit") == []
    assert verify(str(tmp_path / "audit")).ok
    assert list(tmp_path.iterdir()) == []


def test_threads_may_share_a_record(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))

    def write(name: int) -> None:
        for number in range(20):
            record.append(judged(number, caller=f"thread-{name}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = entries(tmp_path / "audit")
    assert [entry.seq for entry in written] == list(range(1, 81))
    for name in range(4):
        own = [entry.run for entry in written if entry.caller == f"thread-{name}"]
        assert own == [f"run-{number}" for number in range(20)]
    assert verify(str(tmp_path / "audit")).ok


def test_what_is_noted_is_there_at_once_and_what_is_begun_when_it_was_waited_for(
    tmp_path: Path,
) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    pending = record.begin(judged(1), starting("a"))
    assert pending.wait() == 2
    assert pending.wait() == 2
    assert record.note(judged(3)) == 3
    assert [entry.seq for entry in entries(tmp_path / "audit")] == [1, 2, 3]
    assert verify(str(tmp_path / "audit")).ok


def test_a_command_that_was_run_is_known_and_how_long_it_took(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    make, other = record.digest_of("make"), record.digest_of("make clean")
    record.append(judged(0, command="make"))
    assert not record.has_run(make)
    for number in range(40):
        record.append(starting(f"r{number}", command="make"))
        record.note(ended(f"r{number}", wall_seconds=number / 4))
    record.append(
        Event(kind=Kind.RUN_STARTING, run="p", command="make clean", details={"mode": "preview"})
    )
    record.close()
    again = AuditLog(str(tmp_path / "audit"))
    assert again.has_run(make)
    assert not again.has_run(other)
    assert again.durations(make) == tuple(number / 4 for number in range(24, 40))
    assert again.durations(other) == ()


def test_a_digest_tells_nothing_to_who_has_not_the_key(tmp_path: Path) -> None:
    one, two = (AuditLog(str(tmp_path / name)) for name in ("one", "two"))
    assert one.digest_of("make") != two.digest_of("make")
    assert one.digest_of("make") == AuditLog(str(tmp_path / "one")).digest_of("make")
