"""What a newcomer meets in the source: files, lines, double names, and what one run passes through.

    python bench/house.py [CHECKOUT]

Prints one line a measure, so that two checkouts can be compared with diff.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

PASSED = """
import os, sys, threading
sys.path[:0] = [{source!r}]
sys.path.append({site!r})
passed, changes, last = set(), 0, ''
def look(frame, event, argument):
    global changes, last
    name = frame.f_code.co_filename
    if event == 'call' and name.startswith({source!r}) and frame.f_code.co_name != '<module>':
        passed.add(name)
        package = name[len({source!r}):].split('/')[2]
        changes += package != last
        last = package
from redoma.__main__ import main
main(['run', '-q', 'true'])  # what a first start keeps is there then
threading.setprofile(look)
sys.setprofile(look)
status = main(['run', '-q', 'echo hi > f'])
sys.setprofile(None)
os.write(1, f'{{status}} {{len(passed)}} {{changes}}'.encode())
"""


def passed_by_a_run(checkout: Path) -> tuple[int, int]:
    """How many source files `redoma run 'echo hi > f'` calls into, and how often the package changes."""
    site = next((p for p in sys.path if p.endswith("site-packages")), "")
    code = PASSED.format(source=str(checkout / "src"), site=site)
    with tempfile.TemporaryDirectory() as place:
        workspace = Path(place, "workspace")
        workspace.mkdir()
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", code],
            cwd=workspace,
            env={"HOME": place, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
    status, files, changes = done.stdout.split()[-3:]
    if status != "0":
        raise SystemExit(f"the run failed: {done.stderr}")
    return int(files), int(changes)


def main(arguments: list[str]) -> int:
    """Prints the measures of a checkout, of this one by default."""
    checkout = Path(arguments[0] if arguments else Path(__file__).parents[1]).resolve()
    files = sorted((checkout / "src/redoma").rglob("*.py"))
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(path.stem)
    modules = Counter(path.stem for path in files if path.stem != "__init__")
    passed, changes = passed_by_a_run(checkout)
    print(f"source files: {len(files)}")
    print(f"source lines: {sum(lengths)}")
    print(f"median and longest file: {lengths[len(lengths) // 2]}, {lengths[-1]}")
    print(f"class names that exist twice: {sum(len(at) > 1 for at in classes.values())}")
    print(f"modules ending in -ing: {sum(n for m, n in modules.items() if m.endswith('ing'))}")
    print(f"files passed by run 'echo hi > f': {passed}")
    print(f"changes of package on that way: {changes}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
