"""How does the work after a run grow with what the run changed?

    python bench/preview_scale.py [--depths N,N] [--new N,N] [--removed N]

Each case is a process of its own, so that its memory is its own: a preview through the library,
its apply and its undo, timed apart from the command itself, which runs bare beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

_NEST = "import os\nfor n in range({count}):\n    os.mkdir('d')\n    os.chdir('d')\nopen('f', 'w').close()\n"
_NEW = (
    "import os\nfor n in range({count}):\n    if n % 1000 == 0: os.mkdir(f'd{{n // 1000}}')\n"
    "    open(f'd{{n // 1000}}/f{{n}}', 'w').close()\n"
)
_PYTHON = "/usr/bin/python3"
_DEEP, _FLAT, _REMOVED = 10.0, 50.0, 6


def script(kind: str, count: int) -> list[str]:
    """The command of one case."""
    if kind == "removed":
        return ["/bin/rm", "-rf", "tree"]
    code = (_NEST if kind == "nested" else _NEW).format(count=count)
    return [_PYTHON, "-I", "-S", "-c", code]


def prepare(kind: str, count: int, place: Path) -> None:
    """The workspace of one case."""
    place.mkdir()
    if kind == "removed":
        (place / "tree").mkdir()
        for number in range(count):
            if number % 100 == 0:
                (place / f"tree/d{number // 100}").mkdir()
            (place / f"tree/d{number // 100}/f{number}").write_text(f"{number}\n")


def case(kind: str, count: int, work: str) -> dict[str, float]:
    """What one case costs, in this process."""
    from redoma import Sandbox

    place = Path(work) / "workspace"
    prepare(kind, count, place)
    os.environ["XDG_STATE_HOME"] = f"{work}/state"
    sandbox = Sandbox(str(place), policy="isolation-only")
    sandbox.preview("true").discard()
    told = {"before": _peak()}
    began = time.perf_counter()
    preview = sandbox.preview(script(kind, count))
    told["preview"] = time.perf_counter() - began
    assert preview.result.ok, preview.result.stderr
    told["changes"] = len(preview.changes.items)
    told["previewed"] = _peak()
    began = time.perf_counter()
    preview.apply()
    told["apply"] = time.perf_counter() - began
    told["applied"] = _peak()
    began = time.perf_counter()
    from redoma.pipeline.stored_changes import undo

    undo(preview.id)
    told["undo"] = time.perf_counter() - began
    told["undone"] = _peak()
    return told


def bare(kind: str, count: int, work: str) -> float:
    """The same command without us; for a removal, a copy to take it back by comes first."""
    place = Path(work) / "bare"
    prepare(kind, count, place)
    began = time.perf_counter()
    if kind == "removed":
        subprocess.run(["cp", "-a", "tree", "../copy"], cwd=place, check=True)
    subprocess.run(script(kind, count), cwd=place, check=True)
    return time.perf_counter() - began


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(kind: str, count: int) -> dict[str, float]:
    """One case in a process of its own."""
    # Not below /tmp, which is another one inside.
    work = tempfile.mkdtemp(prefix="scale-", dir=Path.home())
    try:
        plain = bare(kind, count, work)
        words = [sys.executable, __file__, "--case", kind, str(count), work]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        return {**json.loads(done.stdout), "bare": plain}
    finally:
        from redoma.jail.protect.untrusted_paths import remove_tree

        remove_tree(work)


def show(kind: str, count: int) -> dict[str, float]:
    """One line of the table."""
    found = measured(kind, count)
    print(
        f"{kind:<8}{count:>8}{found['bare']:>8.2f}{found['preview']:>9.2f}{found['apply']:>8.2f}"
        f"{found['undo']:>8.2f}{found['before']:>8.0f}{found['previewed'] - found['before']:>9.0f}"
        f"{found['applied'] - found['before']:>8.0f}{found['undone'] - found['before']:>8.0f}",
        flush=True,
    )
    return found


def grows_as_it_should(depths: str, new: str, removed: str) -> bool:
    """Whether depth, number and removal cost what they may; prints every case."""
    print("                    seconds                          MB, and how many more after")
    print("case       count    bare  preview   apply    undo  before  preview   apply    undo")
    nested = [show("nested", int(count)) for count in depths.split(",") if count]
    many = [show("new", int(count)) for count in new.split(",") if count]
    gone = [show("removed", int(count)) for count in removed.split(",") if count]
    good = True
    for found in nested:
        took = found["preview"] - found["bare"]
        print(
            f"{found['changes']:.0f} in each other are told in {took:.1f} s (at most {_DEEP:.0f})"
        )
        good &= took <= _DEEP
    if len(many) > 1:
        more = max(many[-1][when] - many[0][when] for when in ("previewed", "applied", "undone"))
        print(f"{many[-1]['changes']:.0f} changes take {more:.0f} MB more than {many[0]['changes']:.0f}"
              f" (at most {_FLAT:.0f})")  # fmt: skip
        good &= more <= _FLAT
    for found in gone:
        ratio = (found["preview"] + found["apply"]) / found["bare"]
        print(f"{found['changes']:.0f} removed: {ratio:.2f} × rm -rf + cp -a (at most {_REMOVED})")
        good &= ratio <= _REMOVED
    return good


def main() -> None:
    """Runs every case."""
    if sys.argv[1:2] == ["--case"]:
        kind, count, work = sys.argv[2:5]
        print(json.dumps(case(kind, int(count), work)))
        return
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--depths", default="1000,10000")
    options.add_argument("--new", default="1000,100000")
    options.add_argument("--removed", default="100000")
    given = options.parse_args()
    sys.exit(0 if grows_as_it_should(given.depths, given.new, given.removed) else 1)


if __name__ == "__main__":
    main()
