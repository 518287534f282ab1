"""What does a preview cost, and does a command behave in it as it does bare?

    python bench/preview.py [--rounds N] [--files N]

First: every operation of `preview_operations.py` in an overlay and bare, the same words and the same
tree afterwards, and the real tree not changed in one byte or time. Then: `true` in a small and in a
large workspace, interleaved, beside what people do instead: a copy of everything, or git. At last
(`preview_scale.py`): how the work after a run grows with its changes and their depth.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT), str(ROOT / "bench")]

from bench.launch import measured  # noqa: E402
from bench.preview_scale import grows_as_it_should  # noqa: E402
from preview_operations import GAPS, OPERATIONS  # noqa: E402
from redoma.jail.engines.bubblewrap import candidates  # noqa: E402
from redoma.jail.overlay.changes import read_changes  # noqa: E402
from redoma.jail.overlay.store import find_overlay, remove_overlay  # noqa: E402
from redoma.model.change import Changes  # noqa: E402
from tests.unit.jail.overlay.held import Box, snapshot  # noqa: E402

LISTING = (
    "\ncode=$?; echo ==; find . -not -type s | LC_ALL=C sort | while IFS= read -r f; do"
    ' stat -c "%F %a %n %N" "$f" 2>/dev/null; [ -f "$f" ] && sha256sum < "$f"; done; exit $code'
)


def usual(workspace: Path, script: str) -> list[str]:
    """A script under bubblewrap in the profile that agents usually give it: it writes directly."""
    words = "--unshare-all --die-with-parent --new-session --ro-bind / / --dev /dev --proc /proc"
    place = str(workspace)
    return [candidates()[0], *words.split(), "--tmpfs", "/tmp", "--bind", place, place,
            "--chdir", place, "--", "/bin/bash", "-c", script]  # fmt: skip


def overlaid(workspace: Path) -> Box:
    """The standard level, its writes held in an overlay."""
    return Box(workspace)


def drop(changes: Changes | None) -> None:
    """Removes what a run left to be applied."""
    overlay = find_overlay(changes.id) if changes is not None else None
    if overlay is not None:
        remove_overlay(overlay)


def project(place: Path) -> Path:
    """A small project."""
    (place / "src/sub").mkdir(parents=True)
    for number in range(1, 41):
        lines = "".join(f"{number} line {line}\n" for line in range(8))
        (place / f"src/file-{number}.txt").write_text(lines)
    for number in range(8):
        (place / f"src/sub/module{number}.py").write_text(f"VALUE = {number}\n")
    (place / "src/run.sh").write_text("#!/bin/sh\necho run\n")
    (place / "src/main.py").write_text("print('main')\n")
    (place / "README").write_text("read me\n")
    return place


def operations(base: Path) -> bool:
    """Whether everything behaves as bare and the real tree stays as it was."""
    good = 0
    real = project(base / "real/work")
    box = overlaid(real)
    for name, script in {**OPERATIONS, **GAPS}.items():
        with tempfile.TemporaryDirectory(dir=base) as other:
            copy = Path(other) / "work"
            subprocess.run(["cp", "-a", str(real), str(copy)], check=True)
            bare = subprocess.run(
                usual(copy, script + LISTING), capture_output=True, check=False, env={**os.environ}
            )
        before = snapshot(real)
        result = box.run(script + LISTING)
        untouched = snapshot(real) == before
        drop(result.changes)
        same = (result.exit_code, result.stdout) == (bare.returncode, bare.stdout)
        if name in GAPS:
            print(f"  known gap: {name}: {'as bare' if same else 'differs from bare'}")
            if not untouched:
                return False
            continue
        good += same and untouched
        if not same or not untouched:
            print(f"  {name}: {'' if untouched else 'THE REAL TREE CHANGED '}")
            print(f"    bare    {bare.returncode} {bare.stdout[:300]!r} {bare.stderr[:300]!r}")
            print(f"    preview {result.exit_code} {result.stdout[:300]!r} {result.stderr[:300]!r}")
    print(f"behave as bare, real tree byte-identical: {good}/{len(OPERATIONS)}\n")
    return good == len(OPERATIONS)


def tree_of(place: Path, files: int) -> Path:
    """A workspace with so many files."""
    for number in range(files):
        if number % 100 == 0:
            folder = place / f"d{number // 1000}/e{number // 100}"
            folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}").write_text(f"{number}\n" * 20)
    return place


def once(argv: list[str], env: dict[str, str] | None = None) -> None:
    """Runs a program that has to succeed."""
    quiet = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]
    pid = os.posix_spawnp(argv[0], argv, env or dict(os.environ), file_actions=quiet)
    assert os.waitpid(pid, 0)[1] == 0, argv


def copied(work: Path, base: Path) -> None:
    """What a preview is without overlays: copy, run, compare, remove."""
    copy = base / "copy"
    once(["cp", "-r", str(work), str(copy)])
    once(usual(copy, "true"))
    once(["diff", "-rq", str(work), str(copy)])
    once(["rm", "-rf", str(copy)])


def committed(work: Path) -> None:
    """What git does for it: everything staged, the command, what changed, and back."""
    once(["git", "-C", str(work), "add", "-A"])
    once(usual(work, "true"))
    once(["git", "-C", str(work), "status", "--porcelain"])


def costs(base: Path, files: int, rounds: int) -> bool:
    """Whether the cost stays where it should."""
    small, large = tree_of(base / "small", 50), tree_of(base / "large", files)
    repository = base / "repository"
    subprocess.run(["cp", "-a", str(large), str(repository)], check=True)
    once(["git", "-C", str(repository), "init", "-q"])
    few, many = overlaid(small), overlaid(large)

    def preview(box: Box) -> None:
        result = box.run(["/bin/true"])
        assert result.ok
        assert result.changes is not None
        assert result.changes.items == ()

    ways: dict[str, Callable[[], None]] = {
        "bwrap bare, 50 files": lambda: once([*usual(small, "")[:-3], "/bin/true"]),
        f"bwrap bare, {files} files": lambda: once([*usual(large, "")[:-3], "/bin/true"]),
        "preview, 50 files": lambda: preview(few),
        f"preview, {files} files": lambda: preview(many),
    }
    times = measured(ways, rounds, uncounted=1 if rounds > 1 else 0)
    others = measured(
        {
            f"first git add, status, {files} files": lambda: committed(repository),
            f"cp -r + diff -r, {files} files": lambda: copied(large, base),
        },
        1,
        uncounted=0,
    )
    middle = {name: statistics.median(found) for name, found in {**times, **others}.items()}
    bare = middle[f"bwrap bare, {files} files"]
    print(f"{'true, uid ' + str(os.geteuid()):<36}{'median ms':>10}{'best ms':>10}{'× bwrap':>10}")
    for name, found in {**times, **others}.items():
        print(f"{name:<36}{middle[name]:>10.2f}{min(found):>10.2f}{middle[name] / bare:>10.2f}")
    cost = middle[f"preview, {files} files"] / bare
    growth = middle[f"preview, {files} files"] / middle["preview, 50 files"]
    print(f"\npreview of true: {cost:.2f} × bwrap bare (at most 2)")
    print(f"50 to {files} files: {growth:.2f} × (at most 1.3)\n")
    return cost <= 2 and growth <= 1.3


def many_changes(base: Path, files: int) -> None:
    """How long it takes to tell many changes."""
    work = base / "empty"
    work.mkdir()
    box = overlaid(work)
    code = (
        f"import os\nfor n in range({files}):\n    if n % 1000 == 0: os.mkdir(f'd{{n // 1000}}')\n"
    )
    code += "    open(f'd{n // 1000}/f{n}', 'w').close()\n"
    result = box.run(["/usr/bin/python3", "-I", "-S", "-c", code])
    assert result.ok, result.stderr
    assert result.changes is not None
    overlay = find_overlay(result.changes.id)
    assert overlay is not None
    began = time.perf_counter()
    found = read_changes(overlay)
    took = time.perf_counter() - began
    began = time.perf_counter()
    remove_overlay(overlay)
    gone = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(found.items)} changes told in {took:.1f} s and discarded in {gone:.1f} s,"
        f" this process at {peak:.0f} MB at most"
    )


def main() -> None:
    """Runs everything; fails where something is not as it should be."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--files", type=int, default=50_000)
    options.add_argument("--changed", type=int, default=100_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="preview-", dir=Path.home()) as place:
        base = Path(place)
        good = operations(base)
        good &= costs(base, given.files, given.rounds)
        many_changes(base, given.changed)
    good &= grows_as_it_should("1000,10000", f"1000,{given.changed}", str(given.changed))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
