"""Runs a scenario among mounts of its own, as root, and prints what came of it as JSON.

`unshare -m python elsewhere.py SCENARIO BASE UID`: nothing that is mounted here is seen by others;
what is run is run as that user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from redoma.jail.overlay.store import find_overlay  # noqa: E402
from redoma.model.errors import EngineFailed  # noqa: E402
from redoma.model.result import Outcome  # noqa: E402
from tests.unit.jail.overlay.held import sandbox, snapshot, told  # noqa: E402

# One of which the user is a member, beside the user's own.
GROUP = 23456
SCRIPT = "echo more >> a; rm -r d; mkdir d; echo n > d/new; mv b c; ln a a2; chmod 700 e"


def mount(*words: str) -> None:
    """A mount that ends with this process."""
    subprocess.run(["mount", *words], check=True)


def tmpfs(place: Path, size: str = "50%") -> None:
    """A file system in memory."""
    place.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))


def overlay(place: Path, base: Path) -> None:
    """An overlay, as a container's own root is."""
    for name in ("lower", "upper", "work"):
        (base / name).mkdir(parents=True)
    place.mkdir(parents=True, exist_ok=True)
    overlays = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
    mount("-t", "overlay", "overlay", "-o", overlays, str(place))


def open_the_way(base: Path, *places: str) -> None:
    """Lets every user enter the directories above these places, among our own mounts alone.

    An interpreter or a checkout may lie below a home that only its owner can enter (pyenv of root).
    """
    above = {parent for place in places for parent in Path(place).parents}
    closed = {parent for parent in above if not parent.stat().st_mode & 0o001}
    outermost = [parent for parent in closed if closed.isdisjoint(parent.parents)]
    hidden = [place for place in places if not closed.isdisjoint(Path(place).parents)]
    for number, place in enumerate(hidden):
        (base / f"way-{number}").mkdir()
        mount("--rbind", place, str(base / f"way-{number}"))
    for parent in outermost:
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(parent))
    for number, place in enumerate(hidden):
        Path(place).mkdir(parents=True, exist_ok=True)
        mount("--move", str(base / f"way-{number}"), place)
        (base / f"way-{number}").rmdir()


def filled(work: Path) -> Path:
    """A workspace with something to lose."""
    (work / "d").mkdir(parents=True)
    (work / "e").mkdir()
    (work / "a").write_text("a\n")
    (work / "b").write_text("content to be found again\n")
    (work / "d/old").write_text("old\n")
    return work


def made(scenario: str, base: Path) -> Path:
    """The workspace of a scenario."""
    state = Path(os.environ["XDG_STATE_HOME"])
    if scenario == "tmpfs":
        tmpfs(base / "fs")
        return filled(base / "fs/work")
    if scenario == "full":
        tmpfs(base / "fs", "1m,nr_inodes=12")
        return filled(base / "fs/work")
    if scenario == "small":
        tmpfs(base / "fs", "1m")
        return filled(base / "fs/work")
    if scenario == "tmpfs-itself":
        tmpfs(base / "fs")
        return filled(base / "fs")
    if scenario == "overlay":
        overlay(base / "fs", base / "parts")
        return filled(base / "fs/work")
    if scenario in ("container", "container-without-memory"):
        overlay(base / "fs", base / "parts")
        overlay(state, base / "state-parts")
        mount("-t", "tmpfs", "-o", "ro" if "without" in scenario else "rw", "tmpfs", "/dev/shm")
        return filled(base / "fs/work")
    if scenario == "group":
        return filled(base / "work")
    assert scenario == "nested"
    work = filled(base / "work")
    tmpfs(work / "m")
    (work / "m/inside").write_text("on another file system\n")
    return work


def main() -> None:
    """Runs the scenario."""
    scenario, base, user = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    work = made(scenario, base)
    if user:
        open_the_way(base, *map(os.path.realpath, {str(ROOT), sys.prefix, sys.base_prefix}))
        os.environ["XDG_CACHE_HOME"] = str(base / "cache")
        subprocess.run(["chown", "-R", f"{user}:{user}", str(base)], check=True)
        if scenario == "group":
            subprocess.run(["chgrp", "-R", str(GROUP), str(work)], check=True)
        os.setgroups([GROUP])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    before = snapshot(work)
    script = SCRIPT + "; head -c 2M /dev/zero > big 2> /dev/null || true" * (scenario == "small")
    try:
        result = sandbox(work).run(script)
    except EngineFailed as error:
        print(json.dumps({"refused": str(error).replace(str(base), "BASE")}))
        return
    wanted = (Outcome.DISK_FULL if scenario == "small" else Outcome.EXITED, b"")
    assert (result.outcome, result.stderr) == wanted, (result.outcome, result.stderr)
    assert result.changes is not None
    overlay = find_overlay(result.changes.id)
    assert overlay is not None
    print(
        json.dumps(
            {
                "told": told(result.changes),
                "same": snapshot(work) == before,
                "kind": overlay.kind,
                "renames": overlay.renames,
                "in_memory": overlay.in_memory,
                "warnings": [text.replace(str(base), "BASE") for text in result.changes.warnings],
            }
        )
    )


if __name__ == "__main__":
    main()
