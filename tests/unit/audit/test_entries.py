"""What is looked for is found, whatever somebody wrote into it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from redoma.audit.entries import AuditReader, EntryFilter, follow
from redoma.audit.log import AuditLog
from redoma.model.errors import RecordUnavailable, UsageError
from tests.unit.audit.story import ended, entries, judged, starting, tamper


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with AuditLog(str(tmp_path / "audit")) as record:
        record.append(judged(1, session="s1", caller="a", command="make 100%_sure"))
        record.append(judged(2, session="s2", caller="b", command="MAKE clean"))
        record.append(starting("run-2", caller="b", session="s2"))
        record.append(ended("run-2", code=3))
    return tmp_path / "audit"


def found(directory: Path, wanted: EntryFilter) -> list[int]:
    with AuditReader(str(directory)) as reader:
        assert [entry.seq for entry in reader.newest(100, wanted)] == [
            entry.seq for entry in reader.all(wanted)
        ]
        return [entry.seq for entry in reader.all(wanted)]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (EntryFilter(), [1, 2, 3, 4]),
        (EntryFilter(session="s2"), [2, 3]),
        (EntryFilter(session=""), [4]),
        (EntryFilter(caller="a"), [1]),
        (EntryFilter(run="run-2"), [2, 3, 4]),
        (EntryFilter(kinds=("run-starting", "run-ended")), [3, 4]),
        (EntryFilter(kinds=("judged",), caller="b"), [2]),
        (EntryFilter(text="make"), [1, 2, 3]),
        (EntryFilter(text="100%_S"), [1]),
        (EntryFilter(text="%"), [1]),
        (EntryFilter(text='"code":3'), [4]),
        (EntryFilter(text="' OR 1=1 --"), []),
        (EntryFilter(after=2), [3, 4]),
        (EntryFilter(since=0, until=1), []),
        (EntryFilter(since=0), [1, 2, 3, 4]),
    ],
)
def test_a_filter_finds_what_it_says(
    directory: Path, wanted: EntryFilter, numbers: list[int]
) -> None:
    assert found(directory, wanted) == numbers


def test_since_counts_the_moment_itself_and_until_does_not(directory: Path) -> None:
    second = entries(directory)[1].at
    assert found(directory, EntryFilter(since=second)) == [2, 3, 4]
    assert found(directory, EntryFilter(until=second)) == [1]


def test_the_newest_come_last(directory: Path) -> None:
    with AuditReader(str(directory)) as reader:
        assert [entry.seq for entry in reader.newest(2)] == [3, 4]
        assert reader.last() == 4
        entry = reader.get(2)
        assert entry is not None
        assert entry.command == "MAKE clean"
        assert reader.get(99) is None


def test_a_text_too_long_to_search_for_is_an_error(directory: Path) -> None:
    with pytest.raises(UsageError):
        found(directory, EntryFilter(text="x" * 1001))


def test_an_entry_that_somebody_spoilt_hides_no_other(directory: Path) -> None:
    tamper(
        directory,
        "UPDATE audit_log SET command = CAST(x'ff00fe' AS TEXT) WHERE seq = 1",
        "UPDATE audit_log SET caller = x'00', details = '{' WHERE seq = 2",
        "UPDATE audit_log SET at = 'never' WHERE seq = 3",
    )
    shown = entries(directory)
    assert [entry.seq for entry in shown] == [1, 2, 3, 4]
    assert shown[0].command == "\udcff\x00\udcfe"
    assert (shown[1].caller, shown[1].facts()) == ("b'\\x00'", {})
    assert shown[2].at == 0


def test_a_table_that_was_dropped_is_not_an_empty_record(directory: Path) -> None:
    tamper(directory, "DROP TABLE audit_log")
    with pytest.raises(RecordUnavailable, match="no such table"):
        entries(directory)


def test_following_shows_what_comes_even_when_the_record_begins_later(tmp_path: Path) -> None:
    directory = tmp_path / "audit"
    seen: list[str] = []

    def watch() -> None:
        for entry in follow(str(directory), pause=0.01):
            seen.append(entry.run)
            if len(seen) == 3:
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    with AuditLog(str(directory)) as record:
        for number in range(3):
            record.append(judged(number))
        watcher.join(timeout=30)
    assert seen == ["run-0", "run-1", "run-2"]
