"""Many processes write one record; what dies leaves no trace but what it had written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from redoma.audit.log import AuditLog
from redoma.audit.verification import verify
from tests.unit.audit.story import ended, entries, judged, starting, tamper

WRITING = Path(__file__).with_name("writing.py")


def writer(directory: Path, what: str, rows: int, name: str) -> subprocess.Popen[str]:
    """A process that writes to a record."""
    return subprocess.Popen(
        [sys.executable, str(WRITING), str(directory), what, str(rows), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_four_processes_write_at_once_and_nothing_is_lost_or_out_of_chain(tmp_path: Path) -> None:
    directory = tmp_path / "audit"
    writers = [writer(directory, "judge", 100, f"w{number}") for number in range(4)]
    for each in writers:
        each.communicate(timeout=120)
        assert each.returncode == 0
    written = entries(directory)
    assert [entry.seq for entry in written] == list(range(1, 401))
    for number in range(4):
        own = [entry.run for entry in written if entry.caller == f"w{number}"]
        assert own == [f"run-{each}" for each in range(100)]
    assert verify(str(directory)).ok


def test_a_run_whose_process_was_killed_is_closed_as_interrupted_by_the_next(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "audit"
    dying = writer(directory, "start", 1, "dying")
    living = writer(directory, "start", 1, "living")
    for each in (dying, living):
        assert each.stdout is not None
        each.stdout.readline()
    dying.send_signal(signal.SIGKILL)
    dying.communicate()
    record = AuditLog(str(directory))
    record.append(starting("ours"))
    closed = [entry for entry in entries(directory) if entry.kind == "interrupted"]
    assert [(entry.run, entry.caller) for entry in closed] == [("dying-0", "dying")]
    start = next(entry for entry in entries(directory) if entry.run == "dying-0")
    assert closed[0].facts() == {"started": start.seq}

    living.communicate("")
    assert record.close_interrupted() == record.close_interrupted(), "once is enough"
    closed = [entry for entry in entries(directory) if entry.kind == "interrupted"]
    assert [entry.run for entry in closed] == ["dying-0", "living-0"]
    record.append(ended("ours"))
    assert verify(str(directory)).ok


def test_a_run_of_an_earlier_boot_is_interrupted(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    record.append(starting("old"))
    record.close()
    tamper(tmp_path / "audit", "UPDATE runs SET maker = 'other-boot ' || substr(maker, 38)")
    record.append(judged(1))
    assert [entry.kind for entry in entries(tmp_path / "audit")] == [
        "run-starting",
        "interrupted",
        "judged",
    ]


def test_a_pid_that_was_given_to_another_process_does_not_keep_a_run_open(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    record.append(starting("old"))
    record.close()
    tamper(tmp_path / "audit", "UPDATE runs SET maker = maker || '0'")
    record.close_interrupted()
    assert [entry.kind for entry in entries(tmp_path / "audit")] == ["run-starting", "interrupted"]


def test_a_forked_child_opens_the_record_for_itself(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    record.append(judged(1, caller="parent"))
    child = os.fork()
    if child == 0:
        try:
            for number in range(20):
                record.append(judged(number, caller="child"))
            os._exit(0)
        except BaseException:
            os._exit(1)
    for number in range(20):
        record.append(judged(number, caller="parent"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    record.append(judged(99, caller="parent"))
    written = entries(tmp_path / "audit")
    assert len(written) == 42
    assert sum(entry.caller == "child" for entry in written) == 20
    assert verify(str(tmp_path / "audit")).ok


def test_a_child_that_lives_on_does_not_keep_its_dead_parents_lock(tmp_path: Path) -> None:
    code = (
        f"import os, sys; sys.path[:0] = {[str(p) for p in (WRITING.parents[3] / 'src',)]!r}\n"
        "from redoma.audit.log import AuditLog\n"
        "from redoma.model.event import Event, Kind\n"
        f"record = AuditLog({str(tmp_path / 'audit')!r})\n"
        "record.append(Event(kind=Kind.JUDGED, run='a'))\n"
        "record._writer._head_lock.enter()\n"
        "if os.fork() == 0:\n"
        "    os.close(1); os.read(0, 1); os._exit(0)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    alive, ours = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=alive, stdout=subprocess.PIPE
    ) as parent:
        parent.wait()
        AuditLog(str(tmp_path / "audit")).append(judged(2))
        os.close(ours)
        os.close(alive)
    assert len(entries(tmp_path / "audit")) == 2
