"""What a cold start costs: CPU of the bare interpreter, of check, of the hook and of run.

bench/start.py [CHECKOUT …] [--rounds N]

Starts of all checkouts alternate, so that they share whatever else the machine does meanwhile; each
figure is a median. "Ratio" is to the bare interpreter, "modules" counts ours and all, "ours"
those of Redoma. Without a checkout this one is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable, "-I", "-S", "-X", "utf8"]
CALL = {
    "session_id": "a",
    "transcript_path": "/tmp/t.jsonl",
    "cwd": "/home/someone/project",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "cd src && grep -rn 'def main' . | head -20"},
}
COUNT = """
import atexit, sys
def count():
    ours = sum(name.partition(".")[0] == "redoma" for name in sys.modules)
    sys.stderr.write(f"MODULES {len(sys.modules)} {ours}")
sys.path.append(sys.argv.pop(1)); sys.path.append(sys.argv.pop(1))
from redoma.__main__ import main
status = main(sys.argv[1:]); count(); sys.exit(status)
"""


def ways_in(work: str) -> dict[str, list[str]]:
    """The command lines that are measured."""
    return {
        "check": ["check", "ls"],
        "hook": ["hook", "claude-code"],
        "run": ["run", "-q", "--workspace", work, "--", "/bin/true"],
    }


def cpu(command: list[str], said: Path, environment: dict[str, str]) -> float:
    """Milliseconds of processor time that one process and its children took."""
    with said.open() as stdin:
        child = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.DEVNULL, env={**os.environ, **environment}
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    return 1000 * (used.ru_utime + used.ru_stime)


def modules(
    checkout: Path, arguments: list[str], said: Path, environment: dict[str, str]
) -> tuple[int, int]:
    """How many modules a start has loaded at its end: all, and ours."""
    site = f"{sys.prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    with said.open() as stdin:
        done = subprocess.run(
            [*PYTHON, "-c", COUNT, str(checkout / "src"), site, *arguments],
            stdin=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            check=False,
        )
    loaded, ours = done.stderr.rpartition("MODULES ")[2].split()
    return int(loaded), int(ours)


def main() -> None:
    """Prints one table a checkout."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("checkouts", nargs="*", type=Path, metavar="CHECKOUT")
    reader.add_argument("--rounds", type=int, default=31)
    asked = reader.parse_args()
    checkouts = [each.resolve() for each in asked.checkouts] or [ROOT]
    with tempfile.TemporaryDirectory() as directory:
        work = f"{directory}/work"
        os.mkdir(work)
        said = Path(directory, "call.json")
        said.write_text(json.dumps(CALL))
        arguments = ways_in(work)
        homes = {
            checkout: {
                "XDG_CACHE_HOME": f"{directory}/{number}/cache",
                "XDG_STATE_HOME": f"{directory}/{number}/state",
            }
            for number, checkout in enumerate(checkouts)
        }
        bare: list[float] = []
        taken: dict[tuple[Path, str], list[float]] = {}
        for turn in range(-3, asked.rounds):  # the first ones compile and fill the caches
            bare_now = cpu([*PYTHON, "-c", "pass"], said, {})
            if turn >= 0:
                bare.append(bare_now)
            for way, words in arguments.items():
                for checkout in checkouts:
                    start = [*PYTHON, str(checkout / "src/redoma/__main__.py"), *words]
                    spent = cpu(start, said, homes[checkout])
                    if turn >= 0:
                        taken.setdefault((checkout, way), []).append(spent)
        base = statistics.median(bare)
        print(f"bare interpreter: {base:.1f} ms CPU (median of {asked.rounds})")
        for checkout in checkouts:
            print(
                f"\n{checkout}\n{'':8}{'CPU ms':>8}{'least':>8}{'ratio':>8}{'modules':>9}{'ours':>6}"
            )
            for way, words in arguments.items():
                spent_all = taken[checkout, way]
                middle = statistics.median(spent_all)
                loaded, ours = modules(checkout, words, said, homes[checkout])
                print(
                    f"{way:8}{middle:8.1f}{min(spent_all):8.1f}{middle / base:8.2f}"
                    f"{loaded:9}{ours:6}"
                )


if __name__ == "__main__":
    main()
