"""Where the audit log cannot be written nothing is written by halves, and the error says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.audit.log import AuditLog
from redoma.audit.verification import verify
from redoma.model.errors import RecordUnavailable
from tests.unit.audit.story import entries, judged, written

pytestmark = pytest.mark.both_users
NAMES = ("audit.db", "audit.head", "audit.key")


def refusal(directory: Path) -> RecordUnavailable:
    """The error of one more entry; it ends a command with 125."""
    with pytest.raises(RecordUnavailable) as caught:
        AuditLog(str(directory)).append(judged(99))
    assert caught.value.exit_status == 125
    assert caught.value.code == "record-unavailable"
    return caught.value


@pytest.mark.parametrize("name", [*NAMES, "audit.db-wal"])
def test_a_symbolic_link_is_not_followed(tmp_path: Path, name: str) -> None:
    directory = written(tmp_path / "audit")
    elsewhere = tmp_path / "elsewhere"
    if (directory / name).exists():
        (directory / name).rename(elsewhere)
    else:
        elsewhere.touch(mode=0o600)
    (directory / name).symlink_to(elsewhere)
    assert "symbolic link" in str(refusal(directory))
    with pytest.raises(RecordUnavailable):
        verify(str(directory))
    with pytest.raises(RecordUnavailable):
        entries(directory)


def test_a_directory_that_is_a_link_is_not_entered(tmp_path: Path) -> None:
    written(tmp_path / "real")
    (tmp_path / "audit").symlink_to(tmp_path / "real")
    assert "symbolic link" in str(refusal(tmp_path / "audit"))


@pytest.mark.parametrize("name", [".", *NAMES])
def test_what_others_may_read_or_write_is_not_used(tmp_path: Path, name: str) -> None:
    directory = written(tmp_path / "audit")
    (directory / name).chmod(0o750 if name == "." else 0o620)
    error = refusal(directory)
    assert "open to others" in str(error)
    assert error.hint.startswith("chmod ")


def test_a_second_name_for_the_database_is_not_accepted(tmp_path: Path) -> None:
    directory = written(tmp_path / "audit")
    os.link(directory / "audit.db", tmp_path / "second")
    assert "hard link" in str(refusal(directory))


@pytest.mark.parametrize("name", NAMES[:2])
def test_a_file_that_is_removed_below_a_writer_is_missed_at_once(tmp_path: Path, name: str) -> None:
    with AuditLog(str(tmp_path / "audit")) as record:
        record.append(judged(1))
        (tmp_path / "audit" / name).rename(tmp_path / "moved")
        with pytest.raises(RecordUnavailable, match="moved or removed"):
            record.append(judged(2))
        (tmp_path / "moved").rename(tmp_path / "audit" / name)
        assert record.append(judged(2)) == 2
    assert verify(str(tmp_path / "audit")).ok


def test_a_writer_whose_record_was_moved_away_leaves_the_one_in_its_place_alone(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "audit"
    old = AuditLog(str(directory))
    old.append(judged(1))
    directory.rename(tmp_path / "audit.old")
    new = AuditLog(str(directory))
    new.append(judged(10))
    with pytest.raises(RecordUnavailable, match="moved or removed"):
        old.append(judged(2))
    assert (directory / "audit.db-wal").exists()
    assert old.append(judged(11)) == 2, "it goes on in the audit log that is there"
    assert new.append(judged(12)) == 3
    assert [entry.run for entry in entries(directory)] == ["run-10", "run-11", "run-12"]
    assert [entry.run for entry in entries(tmp_path / "audit.old")] == ["run-1"]
    assert verify(str(directory)).ok


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "audit" / "audit.key", 0o600)
    assert "not a plain file" in str(refusal(tmp_path / "audit"))


@pytest.mark.root
@pytest.mark.parametrize("name", [".", *NAMES])
def test_what_belongs_to_someone_else_is_not_used(tmp_path: Path, name: str) -> None:
    directory = written(tmp_path / "audit")
    os.chown(directory / name, 12345, 12345)
    assert "belongs to uid 12345" in str(refusal(directory))


@pytest.mark.not_root
def test_a_directory_that_cannot_be_written_stops_everything(tmp_path: Path) -> None:
    directory = written(tmp_path / "audit")
    for name in NAMES:
        (directory / name).chmod(0o400)
    directory.chmod(0o500)
    try:
        refusal(directory)
        assert len(entries(directory)) == 6
        assert verify(str(directory)).ok
    finally:
        directory.chmod(0o700)
    assert "cannot be made" in str(refusal(Path("/proc/redoma/audit")))


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    directory = written(tmp_path / "audit")
    code = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parents[3] / p) for p in ('src', '.')]}\n"
        "import resource\n"
        "from redoma.model.errors import RecordUnavailable\n"
        "from redoma.audit.log import AuditLog\n"
        "from tests.unit.audit.story import judged\n"
        f"record = AuditLog({str(directory)!r})\n"
        "record.append(judged(7))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    for number in range(8, 1000):\n"
        "        record.append(judged(number))\n"
        "        last = number\n"
        "except RecordUnavailable as error:\n"
        "    print(last, error.exit_status)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    last, status = map(int, done.stdout.split())
    assert status == 125
    found = entries(directory)
    # What was not said to be written may be there, since it may be on disk when the error comes.
    assert [entry.run for entry in found[:last]] == [f"run-{n}" for n in range(1, last + 1)]
    assert len(found) <= last + 1
    assert verify(str(directory)).ok
    AuditLog(str(directory)).append(judged(0))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", place], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("SKIPPED (cannot mount here)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.root
def test_a_full_disk_stops_everything_and_the_record_stays_whole(small_disk: Path) -> None:
    directory = small_disk / "audit"
    record = AuditLog(str(directory))
    record.append(judged(1))
    with open(small_disk / "filler", "wb", buffering=0) as filler, pytest.raises(OSError):
        for _ in range(1000):
            filler.write(b"x" * 4096)
    with pytest.raises(RecordUnavailable) as caught:
        for number in range(2, 200):
            record.append(judged(number))
    assert caught.value.exit_status == 125
    assert verify(str(directory)).ok
    before = len(entries(directory))
    os.unlink(small_disk / "filler")
    record.append(judged(3))
    assert len(entries(directory)) == before + 1
    record.close()


@pytest.mark.root
def test_a_disk_that_became_read_only_stops_everything(small_disk: Path) -> None:
    directory = written(small_disk / "audit")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert "Read-only" in str(refusal(directory))
    assert len(entries(directory)) == 6
    assert verify(str(directory)).ok
