"""What does the audit log cost? Durable appends against a bare fsync loop, a warm run, verifying.

    python bench/record.py [--appends N] [--rounds N] [--rows N]

Each is measured beside what it is compared with, in turns, since a busy machine changes from
second to second: read the ratios. Ends with 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from redoma import Sandbox  # noqa: E402
from redoma.audit.entries import AuditReader  # noqa: E402
from redoma.audit.log import AuditLog  # noqa: E402
from redoma.audit.verification import verify  # noqa: E402
from redoma.model.event import Event, Kind  # noqa: E402
from redoma.pipeline.secrets import redact  # noqa: E402

PROCESSES = 4
APPENDS_A_SECOND = 1500
PART_OF_A_RUN = 0.10
SECONDS_FOR_A_MILLION = 30.0
BATCH = 5000


def judged(number: int, caller: str = "agent") -> Event:
    """What is written for an ordinary command that was judged."""
    return Event(
        kind=Kind.JUDGED,
        run=f"{caller}-{number}",
        caller=caller,
        session=f"session {number % 7}",
        command=f"git commit -m 'change {number}' && make test",
        details={"verdict": "allow", "risk": "moderate", "rules": ["git.commit"], "because": []},
    )


class Timed(AuditLog):
    """A record that counts the time which is spent in it."""

    spent = 0.0

    def _write(self, *given: object, **more: object) -> int:
        began = time.perf_counter()
        try:
            return super()._write(*given, **more)  # type: ignore[arg-type]
        finally:
            self.spent += time.perf_counter() - began


def fsync_loop(place: Path, times: int) -> float:
    """Times a second that some bytes are appended to a file and forced to disk, one process."""
    descriptor = os.open(place / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    began = time.perf_counter()
    for _ in range(times):
        os.write(descriptor, b"x" * 400)
        os.fdatasync(descriptor)
    took = time.perf_counter() - began
    os.close(descriptor)
    return times / took


def appends(place: Path, times: int) -> tuple[float, str]:
    """Appends a second of four processes at once, and what is wrong with what they left."""
    directory = str(place / f"many-{time.monotonic_ns()}")
    AuditLog(directory).append(judged(0))
    ready, go = os.pipe()
    children = []
    for name in range(PROCESSES):
        child = os.fork()
        if child == 0:
            record = AuditLog(directory, keep=None)
            record.digest_of("open before the race")
            os.close(go)
            os.read(ready, 1)
            for number in range(times // PROCESSES):
                record.append(judged(number, caller=f"writer {name}"))
            os._exit(0)
        children.append(child)
    time.sleep(0.5)
    began = time.perf_counter()
    os.close(go)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    took = time.perf_counter() - began
    os.close(ready)
    found = verify(directory)
    wrong = [fault.text for fault in found.faults]
    if any(statuses) or found.rows != 1 + times // PROCESSES * PROCESSES:
        wrong.append(f"{found.rows} rows, statuses {statuses}")
    return times / took, "; ".join(wrong)


def in_a_run(place: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of warm runs, and of all that was written for each."""
    record = Timed(str(place / "runs"), redact=redact)
    workspace = place / "workspace"
    workspace.mkdir()
    sandbox = Sandbox(str(workspace), audit=record)
    runs, written = [], []
    for number in range(-5, rounds):
        record.spent = 0.0
        began = time.perf_counter()
        sandbox.run(["/bin/true"]).raise_for_outcome()
        if number >= 0:
            runs.append(time.perf_counter() - began)
            written.append(record.spent)
    record.close()
    return runs, written


def verifying(place: Path, rows: int) -> tuple[float, float]:
    """Seconds that it takes to verify so many rows, and to read them and do nothing."""
    directory = str(place / "long")
    with AuditLog(directory, keep=None) as record:
        for first in range(0, rows, BATCH):
            record.note(*(judged(number) for number in range(first, min(first + BATCH, rows))))
    began = time.perf_counter()
    found = verify(directory)
    took = time.perf_counter() - began
    assert found.ok and found.rows == rows, found
    began = time.perf_counter()
    with AuditReader(directory) as reader:
        assert reader._connection is not None
        for _ in reader._connection.execute("SELECT * FROM audit_log"):
            pass
    return took, time.perf_counter() - began


def main() -> None:
    """Measures, prints, and fails where a promise is broken."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--appends", type=int, default=4000)
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--rows", type=int, default=1_000_000)
    given = options.parse_args()
    broken = []
    with tempfile.TemporaryDirectory(prefix="record-", dir=Path.home()) as name:
        place = Path(name)
        bare, ours = [], []
        for _ in range(3):
            bare.append(fsync_loop(place, given.appends // 4))
            rate, wrong = appends(place, given.appends)
            ours.append(rate)
            broken += [wrong] if wrong else []
        print(f"{'durable appends a second':<36}{'median':>9}{'best':>9}{'× fsync':>9}")
        base = statistics.median(bare)
        for what, rates in (("bare write and fdatasync", bare), ("record, 4 processes", ours)):
            middle = statistics.median(rates)
            print(f"{what:<36}{middle:>9.0f}{max(rates):>9.0f}{middle / base:>9.2f}")
        if statistics.median(ours) < APPENDS_A_SECOND:
            broken.append(f"less than {APPENDS_A_SECOND} appends a second")

        runs, written = (statistics.median(found) for found in in_a_run(place, given.rounds))
        part = written / runs
        print(f"\na warm run of /bin/true: {runs * 1000:.2f} ms, of these written: {part:.1%}")
        if part > PART_OF_A_RUN:
            broken.append(f"more than {PART_OF_A_RUN:.0%} of a run")

        took, reading = verifying(place, given.rows)
        print(f"\nverifying {given.rows} rows: {took:.1f} s, {took / reading:.1f} × reading them")
        if took > SECONDS_FOR_A_MILLION * given.rows / 1_000_000:
            broken.append("verifying takes too long")
    for promise in broken:
        print(f"BROKEN: {promise}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
