"""Ten everyday projects' work, inside and outside: the same results, and what the dome costs.

bench/everyday.py [--rounds N] [--json]

Each piece of work is done in a fresh copy of its project, once by a plain shell and once by `redoma run`, in turns.
Status, output and every file that is left are compared; "ratio" is the median of inside to outside. For the test
suite and the build, which take a second and more, it may be 1.15; a cold start dominates the short ones.
The status is 1 where a result differs or a bound is missed. What needs a program that is not installed is named.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REDOMA = [sys.executable, "-I", "-S", "-X", "utf8", str(ROOT / "src/redoma/__main__.py")]
BOUND = 1.15
_SUITE = """
import hashlib, unittest
class Slow(unittest.TestCase):
    pass
def make(n):
    def test(self):
        text = b"x"
        for _ in range(40000):
            text = hashlib.sha256(text).digest()
        self.assertEqual(len(text), 32)
    return test
for n in range(40):
    setattr(Slow, f"test_{n}", make(n))
unittest.main(verbosity=0)
"""
_UNIT = "int f{0}(int a) {{ int s = 0; for (int i = 0; i < a; i++) s += i * {0}; return s; }}\n"
_MAKE = (
    "OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))\n"
    "app: $(OBJECTS)\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -O2 -c $< -o $@\n"
)
_SERVER = (
    "python3 -m http.server --bind 127.0.0.1 {port} >/dev/null 2>&1 & server=$!; "
    "for i in 1 2 3 4 5 6 7 8 9 10; do curl -fs http://127.0.0.1:{port}/page.txt > got && break; "
    "sleep 0.2; done; kill $server; cat got"
)
# name, programs, files, command, what is typed, whether its ratio is bounded
WORK: tuple[tuple[str, str, dict[str, str], str, str, bool], ...] = (
    ("test suite", "python3", {"tests.py": _SUITE}, "python3 tests.py 2>/dev/null", "", True),
    (
        "build in C",
        "gcc make",
        {"Makefile": _MAKE, "main.c": "int main(void) { return 0; }\n"}
        | {f"unit{n}.c": _UNIT.format(n) for n in range(60)},
        "make -s && ./app && echo built",
        "",
        True,
    ),
    ("failing build", "gcc make", {"Makefile": _MAKE, "a.c": "int a;\n", "b.c": "int b\n"},
     "make -s -k 2>/dev/null; test -f a.o && echo kept; exit 2", "", False),
    ("commit", "git", {"a.txt": "one\n"},
     "git init -q -b main . && git add -A && git -c user.name=a -c user.email=a@b.example commit -qm first"
     " && git log --format=%s && git status --short", "", False),
    ("install", "python3", {"pyproject.toml": '[project]\nname = "a"\nversion = "1"\n'},
     "python3 -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'",
     "", False),
    ("dev server and curl", "python3 curl", {"page.txt": "hello\n"}, _SERVER.format(port=18477), "", False),
    ("debugger", "python3", {"app.py": "a = 1\nb = a + 1\nprint(b)\n"},
     "python3 -m pdb app.py 2>&1 | grep -v '^>'", "next\nnext\np b\nquit\n", False),
    ("REPL", "python3", {"a.txt": "x"}, "python3 -i -q 2>/dev/null <<END\nprint(6 * 7)\nexit()\nEND", "", False),
    ("node tests", "node", {"t.js": "require('assert').equal(1 + 1, 2); console.log('ok')\n"},
     "node t.js", "", False),
    ("database", "sqlite3", {"s.sql": "create table t(a); insert into t values (1),(2); select sum(a) from t;\n"},
     "sqlite3 app.db < s.sql && echo 'select count(*) from t' | sqlite3 app.db", "", False),
)  # fmt: skip


def done(argv: list[str], place: Path, typed: str, env: dict[str, str]) -> tuple[float, int, str]:
    """How long it took, its status and its output."""
    began = time.monotonic()
    ended = subprocess.run(
        argv,
        cwd=place,
        env=env,
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return time.monotonic() - began, ended.returncode, ended.stdout


def left(place: Path, *, exact: bool) -> dict[str, str]:
    """Every file and what it holds; what git keeps for itself has times in it and goes by name."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        if name.startswith((".git/", "env/")) or not exact:
            found[name if not name.startswith(".git/") else ".git"] = ""
        elif path.is_file() and not path.is_symlink():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def compared(
    work: tuple[str, str, dict[str, str], str, str, bool], home: Path, rounds: int
) -> dict[str, object]:
    """One piece of work in turns: whether results are the same, and the ratio."""
    name, _, files, command, typed, bounded = work
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8"}
    times: dict[str, list[float]] = {"outside": [], "inside": []}
    results: dict[str, object] = {}
    for _ in range(rounds):
        for where, taken in times.items():
            # The same path for both: some programs print it.
            place = home / "work/project"
            place.mkdir(parents=True)
            for file, text in files.items():
                (place / file).write_text(text)
            argv = (
                ["bash", "-c", command] if where == "outside" else [*REDOMA, "run", "-q", command]
            )
            took, status, said = done(argv, place, typed, env)
            taken.append(took)
            results[where] = (status, said, left(place, exact=name != "database"))
            shutil.rmtree(place.parent)
    outside, inside = (statistics.median(times[where]) for where in ("outside", "inside"))
    return {
        "work": name,
        "same": results["inside"] == results["outside"],
        "outside": outside,
        "inside": inside,
        "ratio": inside / outside,
        "bounded": bounded,
        "results": None if results["inside"] == results["outside"] else repr(results)[:2000],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        for work in WORK:
            missing = [each for each in work[1].split() if not shutil.which(each)]
            if missing:
                print(f"{work[0]}: not done, for want of {', '.join(missing)}", file=sys.stderr)
                continue
            rows.append(compared(work, Path(home), given.rounds))
    if given.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(
                f"{row['work']:<20} {'same' if row['same'] else 'DIFFERS':<8}"
                f" {row['outside']:7.2f} s outside  {row['inside']:7.2f} s inside  {row['ratio']:5.2f} ×"
                f"{'  (at most 1.15)' if row['bounded'] else ''}"
            )
            if row["results"]:
                print(row["results"])
    missed = [row for row in rows if row["bounded"] and float(str(row["ratio"])) > BOUND]
    return 1 if missed or not all(row["same"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
