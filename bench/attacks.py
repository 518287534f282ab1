"""Which attacks succeed: against Redoma, and against bubblewrap as agents commonly call it.

    bench/attacks.py                     the table; run by root, also as an ordinary user
    bench/attacks.py --each              a line for each attack, with what was seen
    bench/attacks.py --only TEXT         only attacks whose name, row or promise has TEXT
    bench/attacks.py --level strict      another level than `standard`
    bench/attacks.py --engine NAME       a certain engine of Redoma's
    bench/attacks.py --json              everything as JSON

The attacks are those of tests/escape, each shown to succeed where nothing holds it. Exit status 1
if one succeeds against Redoma, or could not be run against it.
"""

from __future__ import annotations

import argparse
import json
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.escape.attack import Attack, Unsupported, all_attacks, who  # noqa: E402
from tests.escape.inside import BWRAP, Enclosure, Redoma  # noqa: E402

TEST_USER = "redoma-test"
HELD, SUCCEEDED, NOT_TRIED, NOT_RUN = "held", "succeeded", "not tried", "not run"
SIGNS = {HELD: "·", SUCCEEDED: "✗", NOT_TRIED: "–", NOT_RUN: "!"}
# The one that says most about a row's attacks comes first.
WORST = (SUCCEEDED, NOT_RUN, HELD, NOT_TRIED)
US = "redoma"

# attack name: {column: (outcome, what was seen)}
Results = dict[str, dict[str, tuple[str, str]]]


def tried(attack: Attack, enclosure: Enclosure) -> tuple[str, str]:
    """What came of one attack on one sandbox."""
    try:
        evidence = attack.against(enclosure)
    except Unsupported as reason:
        return NOT_TRIED, str(reason)
    except Exception as error:
        return NOT_RUN, f"{type(error).__name__}: {error}"
    return (SUCCEEDED, evidence) if evidence else (HELD, "")


def measure(attacks: list[Attack], ours: Redoma) -> Results:
    """Every attack on us and on the peer, one after the other, as the user who runs this."""
    found: Results = {}
    for number, attack in enumerate(attacks, 1):
        _progress(f"{who()}: {number} of {len(attacks)}: {attack.name}")
        found[attack.name] = {
            f"{US} {who()}": tried(attack, ours),
            f"bwrap {who()}": tried(attack, BWRAP),
        }
    _progress("")
    return found


def as_ordinary_user(arguments: list[str]) -> Results:
    """The same, as a user who is nobody special, in a copy of this tree that is theirs."""
    for tool in ("useradd", "setpriv"):
        if shutil.which(tool) is None:
            print(f"SKIPPED (no {tool} here): the run as an ordinary user", file=sys.stderr)
            return {}
    try:
        home = pwd.getpwnam(TEST_USER).pw_dir
    except KeyError:
        home = f"/var/lib/{TEST_USER}"
        subprocess.run(
            ["useradd", "--system", "--create-home", "--home-dir", home, TEST_USER], check=True
        )
    copy = Path(tempfile.mkdtemp(prefix="attacks-", dir=home))
    try:
        for name in ("src", "tests", "bench", "requirements"):
            shutil.copytree(
                ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*_cache")
            )
        subprocess.run(["chown", "-R", f"{TEST_USER}:", str(copy)], check=True)
        user = ["setpriv", f"--reuid={TEST_USER}", f"--regid={TEST_USER}", "--init-groups"]
        env = {"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        lock, venv = copy / "requirements/run.lock", f"{home}/venv-bench"
        subprocess.run(
            [*user, "sh", str(copy / "requirements/install"), str(lock), venv], env=env, check=True
        )
        done = subprocess.run(
            [*user, f"{venv}/bin/python", str(copy / "bench/attacks.py"), *arguments, "--json"],
            env=env,
            cwd=copy,
            stdout=subprocess.PIPE,
            check=False,
        )
        rows = json.loads(done.stdout)["attacks"]
        return {
            row["name"]: {column: tuple(cell) for column, cell in row["results"].items()}
            for row in rows
        }
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def table(attacks: list[Attack], results: Results, columns: list[str]) -> str:
    """A line a row of the comparison: the worst that any of its attacks did."""
    rows: dict[str, list[Attack]] = {}
    for attack in attacks:
        rows.setdefault(attack.row, []).append(attack)
    lines = ["| | " + " | ".join(columns) + " | attacks |", "|---" * (len(columns) + 2) + "|"]
    for row, members in rows.items():
        cells = []
        for column in columns:
            seen = [results[m.name].get(column, (NOT_TRIED, ""))[0] for m in members]
            cells.append(SIGNS[min(seen, key=WORST.index)])
        lines.append(f"| {row} | {' | '.join(cells)} | {len(members)} |")
    return "\n".join(lines)


def each(attacks: list[Attack], results: Results, columns: list[str]) -> str:
    """A line an attack, and below it what was seen."""
    lines = []
    for attack in attacks:
        cells = results[attack.name]
        signs = "  ".join(SIGNS[cells.get(c, (NOT_TRIED, ""))[0]] for c in columns)
        lines.append(f"{attack.promise.number:4} {signs}  {attack.name}")
        for column in columns:
            outcome, seen = cells.get(column, (HELD, ""))
            if seen and outcome != NOT_TRIED:
                lines.append(f"       {column}: {' '.join(seen.split())[:160]}")
    return "\n".join([f"     {' '.join(columns)}", *lines])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--level", default="standard")
    parser.add_argument("--engine", default="")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    attacks = [
        attack
        for attack in all_attacks()
        if options.only in f"{attack.promise.number} {attack.row} {attack.name}"
    ]
    results = measure(attacks, Redoma(options.level, options.engine))
    if who() == "root":
        passed = ["--level", options.level, "--engine", options.engine, "--only", options.only]
        for name, cells in as_ordinary_user(passed).items():
            results.setdefault(name, {}).update(cells)
    columns = [
        column
        for column in (f"{US} user", f"{US} root", "bwrap user", "bwrap root")
        if any(column in cells for cells in results.values())
    ]
    bad = sorted(
        (name, column, *cells[column])
        for name, cells in results.items()
        for column in cells
        if column.startswith(US) and cells[column][0] in (SUCCEEDED, NOT_RUN)
    )
    if options.json:
        rows = [
            {
                "promise": attack.promise.number,
                "row": attack.row,
                "name": attack.name,
                "results": results[attack.name],
            }
            for attack in attacks
        ]
        print(json.dumps({"level": options.level, "attacks": rows, "against_us": bad}, indent=1))
    else:
        print(each(attacks, results, columns) if options.each else table(attacks, results, columns))
        print(f"\n✗ succeeded  · held  – cannot be tried here  ({len(attacks)} attacks)")
        for name, column, outcome, seen in bad:
            print(f"{column}: {name} {outcome}: {' '.join(seen.split())[:200]}")
    return 1 if bad else 0


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text[:100]}")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
