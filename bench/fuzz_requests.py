"""Sends odd requests through the gate to three real servers; prints whatever came past its rule.

    .venv-test/bin/python bench/fuzz_requests.py [COUNT] [SEED]

COUNT (51 000 by default) is of all three together; the status is 1 where anything came past.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parents[1])]

from tests.escape.request_fuzz import passed  # noqa: E402

SERVERS = ("python", "node", "nginx")
AT_ONCE = 3400


def main() -> int:
    """Runs until so many were sent."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 51_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    wrong = 0
    for kind in SERVERS:
        sent = arrived = 0
        began = time.monotonic()
        while sent < count / len(SERVERS):
            size = min(AT_ONCE, -(-count // len(SERVERS)) - sent)
            with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
                Path(scratch).chmod(0o755)
                read, past = passed(kind, seed + sent, size, Path(scratch))
            sent, arrived = sent + size, arrived + read
            for each in past:
                wrong += 1
                print(f"{kind}: seed {seed + sent - size}: {each}")
        seconds = time.monotonic() - began
        print(f"{kind}: {sent} sent, {arrived} read there, {seconds:.0f} s", flush=True)
    print(f"{wrong} came past the rule (first seed {seed})")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
