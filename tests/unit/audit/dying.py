"""Writers that are killed at random points: `python dying.py DIRECTORY WRITERS SEED`.

Prints what each writer had been told was written before it died.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3] / part) for part in ("src", ".")]

from redoma.audit.log import AuditLog  # noqa: E402
from tests.unit.audit.story import ended, judged, starting  # noqa: E402

LONGEST_LIFE = 0.03  # seconds
AT_ONCE = 3


def write(directory: str, name: int, told: int, ready: int) -> None:
    """Runs one after the other until it is killed, each step told when it was written."""
    record = AuditLog(directory, keep=None)
    record.digest_of("the audit log is open")
    with suppress(BrokenPipeError):
        os.write(ready, b".")
    for number in range(1000):
        run = f"{name}-{number}"
        if number % 2:
            record.append(judged(number), starting(run))
        else:
            record.begin(judged(number), starting(run)).wait()
        os.write(told, f"started {run}\n".encode())
        record.note(ended(run))
        os.write(told, f"ended {run}\n".encode())


def begun(directory: str, name: int) -> int:
    """A writer; of three, one may be killed while it opens the audit log, the others later."""
    read, ready = os.pipe()
    child = os.fork()
    if child == 0:
        write(directory, name, 1, ready)
    os.close(ready)
    if name % 3:
        os.read(read, 1)
    os.close(read)
    return child


def main(directory: str, writers: int, seed: int) -> None:
    """Starts writers, a few at a time, and kills each at some point of its life."""
    chance = random.Random(seed)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    living: list[tuple[int, float]] = []
    for name in range(writers):
        child = begun(directory, name)
        living.append((child, time.monotonic() + chance.random() * LONGEST_LIFE))
        while len(living) >= AT_ONCE or (name == writers - 1 and living):
            first, when = living.pop(0)
            time.sleep(max(0.0, when - time.monotonic()))
            os.kill(first, signal.SIGKILL)
            os.waitpid(first, 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
