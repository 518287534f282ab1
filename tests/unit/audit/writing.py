"""A process of its own that writes: `python writing.py DIRECTORY WHAT ROWS NAME`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3] / part) for part in ("src", ".")]

from redoma.audit.log import AuditLog  # noqa: E402
from tests.unit.audit.story import ended, judged, starting  # noqa: E402


def main(directory: str, what: str, rows: int, name: str) -> None:
    """Writes as it was told, and says each number only when it is written."""
    record = AuditLog(directory, keep=None)
    for number in range(rows):
        if what == "judge":
            record.append(judged(number, caller=name))
        elif what == "run":
            run = f"{name}-{number}"
            record.append(judged(number, caller=name), starting(run, caller=name))
            print(f"started {run}", flush=True)
            record.note(ended(run))
            print(f"ended {run}", flush=True)
        elif what == "start":
            record.append(starting(f"{name}-{number}", caller=name))
            print(f"started {name}-{number}", flush=True)
    if what == "start":
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
