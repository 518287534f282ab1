"""CPython's own tests of `subprocess` against `redoma.subprocess`, beside the library's own module.

    python bench/subprocess_suite.py            runs them all, half a minute, and prints the table
    python bench/subprocess_suite.py --write    and writes it into docs/reference/subprocess.md

It needs a Python that came with its own tests, and ends with 1 where a test fails that is not named
in tests/doors/library_suite.py with its reason, or passes although it is.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.doors.library_suite import CANNOT  # noqa: E402 — found where this file is

PAGE = ROOT / "docs/reference/subprocess.md"
BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->\n"


def ends() -> list[dict[str, object]]:
    """What became of each test."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.doors.library_suite"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [end for end in found if not end["test"].startswith("Win32")]


def table(found: list[dict[str, object]]) -> str:
    """The counts, and each reason with its tests."""
    count = {kind: [e for e in found if e["end"] == kind] for kind in ("passed", "failed")}
    ran = len(count["passed"]) + len(count["failed"])
    inside = sum(1 for end in count["passed"] if end["runs"])
    lines = [
        f"CPython {platform.python_version()}: of {ran} tests that apply to this system"
        f" {len(count['passed'])} pass, {inside} of them by running commands in a sandbox (the"
        f" others are about arguments and errors before any command), and {len(count['failed'])}"
        f" cannot; the library itself skips {len(found) - ran}.",
        "",
        "| why not | tests |",
        "|---|---|",
    ]
    for why, tests in CANNOT.items():
        names = ", ".join(f"`{name.partition('.')[2]}`" for name in tests)
        lines.append(f"| {why} | {len(tests)}: {names} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    found = ends()
    text = table(found)
    print(text)
    known = {name for names in CANNOT.values() for name in names}
    strays = [
        f"{end['test']} {end['end']}: {end['why']}"
        for end in found
        if end["end"] != "skipped" and (end["end"] == "failed") != (end["test"] in known)
    ]
    for stray in strays:
        print(f"not as written down: {stray}")
    if "--write" in sys.argv and not strays:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(before + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")
    return 1 if strays else 0


if __name__ == "__main__":
    raise SystemExit(main())
