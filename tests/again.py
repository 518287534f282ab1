"""Tries once more, alone, the few tests that failed in a whole run beside others.

A whole run uses every processor of a machine that may be busy with other things too. A test that
passes alone is named as unsteady, so that somebody mends it; it does not fail the run. What tries
to break out of a sandbox is never tried again: an attack that succeeds once has succeeded.

    python -m tests.again STATUS      after a run of pytest that ended with this status
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FAILED = 1
MOST = 5
NEVER_AGAIN = ("tests/escape/", "tests/house/")
ROOT = Path(__file__).parent.parent


def may_be_tried_again(failed: list[str]) -> bool:
    """Whether so few failed, and of such a kind, that it may be the machine's doing."""
    return 0 < len(failed) <= MOST and not any(map(_is_final, failed))


def _is_final(name: str) -> bool:
    return name.startswith(NEVER_AGAIN) or "::" not in name


def main(status: int) -> int:
    """The status of the whole, after what may be tried again was."""
    remembered = ROOT / ".pytest_cache/v/cache/lastfailed"
    failed = sorted(json.loads(remembered.read_text())) if remembered.exists() else []
    if status != FAILED or not may_be_tried_again(failed):
        return status
    print(f"bin/test: {len(failed)} failed beside others; each is tried once more, alone")
    again = subprocess.run([sys.executable, "-m", "pytest", "-q", *failed], cwd=ROOT, check=False)
    if again.returncode == 0:
        print(
            "bin/test: unsteady, each failed beside others and passed alone:", *failed, sep="\n  "
        )
    return again.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
