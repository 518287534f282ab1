"""Leaving something for git where a look afterwards does not find it, or when none comes."""

from __future__ import annotations

import os
import threading
import time

from tests.escape.attack import Unsupported, attack
from tests.escape.attacks.planting import PLANT, plants
from tests.escape.inside import Box, Redoma
from tests.escape.payload import NotRun
from tests.escape.promises import P
from tests.escape.repositories import Project, evil_configuration
from tests.escape.world import World

HIDDEN = "plant where nobody looks"


@plants(HIDDEN)
def hide_below_a_false_repository(top, hooks, evil, settings):
    """A look that skips git's own stores is blind below a directory that pretends to be one."""
    import shutil

    open(f"{top}/HEAD", "w").close()
    places = ["info", "logs", "lfs", "refs", "objects", "rr-cache", "hooks", "worktrees", "modules"]
    for name in places:
        shutil.copytree(f"{top}/vendor/lib/.git", f"{top}/{name}/x/.git", symlinks=True)
        with open(f"{top}/{name}/x/.git/config", "w") as file:
            file.write(settings)
    return [f"{name}/x" for name in places]


@plants(HIDDEN)
def hide_in_a_directory_that_cannot_be_listed(top, hooks, evil, settings):
    """Whoever knows the name can go through a directory that nobody can list."""
    import shutil

    shutil.copytree(f"{top}/vendor/lib/.git", f"{top}/closed/x/.git", symlinks=True)
    with open(f"{top}/closed/x/.git/config", "w") as file:
        file.write(settings)
    os.chmod(f"{top}/closed", 0o111)
    return ["closed/x"]


@plants(HIDDEN)
def hold_on_to_what_is_planted(top, hooks, evil, settings):
    """Directories that may not be written keep what is in them from being taken away."""
    import shutil

    for name in ("kept", "kept2"):
        shutil.copytree(f"{top}/vendor/lib/.git", f"{top}/{name}/.git", symlinks=True)
        with open(f"{top}/{name}/.git/config", "w") as file:
            file.write(settings)
        os.mkdir(f"{top}/{name}/.vscode")
        with open(f"{top}/{name}/.vscode/tasks.json", "w") as file:
            file.write("{}")
        os.chmod(f"{top}/{name}/.git/config", 0o444)
        for place in (f"{top}/{name}/.git/hooks", f"{top}/{name}/.git", f"{top}/{name}/.vscode"):
            os.chmod(place, 0o555)
        os.chmod(f"{top}/{name}", 0o555)
    return ["kept", "kept2"]


@plants(HIDDEN)
def hide_under_strange_names(top, hooks, evil, settings):
    """Names that are no text, that end a line, that look like options."""
    import shutil

    made = []
    for name in (b"new\nline", b"-rf", b"\xff\xfe", b" ", b"a" * 255, b"\x1b[2J"):
        place = os.path.join(os.fsencode(top), name)
        shutil.copytree(os.fsencode(f"{top}/vendor/lib/.git"), place + b"/.git", symlinks=True)
        with open(place + b"/.git/config", "w") as file:
            file.write(settings)
        made.append(os.fsdecode(name))
    return [name for name in made if name.isascii()]


def _plant_and_wait(top, evil, settings):
    import shutil
    import time

    shutil.copytree(f"{top}/vendor/lib/.git", f"{top}/new/.git", symlinks=True)
    with open(f"{top}/new/.git/config", "w") as file:
        file.write(settings)
    with open(f"{top}/.mcp.json", "w") as file:
        file.write("{}")
    open(f"{top}/planted", "w").close()
    time.sleep(30)


@attack(P.PLANTING, PLANT)
def plant_and_run_into_the_timeout(world: World, box: Box) -> str:
    project = Project(world)
    settings = evil_configuration(project.evil)
    box.call(_plant_and_wait, project.top, project.evil, settings, timeout=1.5)
    return project.obeyed(project.top / "new")


@attack(P.PLANTING, "plant, and have Redoma killed")
def plant_and_have_the_supervisor_killed(world: World, box: Box) -> str:
    """Redoma is killed in the middle of a run; its next start in this workspace cleans up."""
    project = Project(world)
    settings = evil_configuration(project.evil)
    process = box.started(_plant_and_wait, project.top, project.evil, settings)
    # Where writes are held until the end, nobody sees them before.
    held = isinstance(box.enclosure, Redoma) and box.enclosure.level == "standard"
    until = time.monotonic() + (4 if held else 20)
    while not (project.top / "planted").exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()
    _, said = process.communicate()
    if not held and not (project.top / "planted").exists():
        raise NotRun(f"nothing was planted: {said[-600:]!r}")
    again = box.started(_nothing)
    again.communicate(timeout=30)
    return project.obeyed(project.top / "new")


def _nothing():
    return None


@attack(P.PLANTING, "plant by two runs side by side")
def plant_by_two_runs_side_by_side(world: World, box: Box) -> str:
    """What the first run plants is there when the second begins, as if it had always been."""
    if isinstance(box.enclosure, Redoma) and box.enclosure.level == "maximum":
        raise Unsupported("nothing of one run is seen by another here")
    project = Project(world)
    other = Box(box.enclosure, world)
    first = threading.Thread(target=lambda: box.call(_plant_then_hide, project.top))
    with world.environment():
        first.start()
        until = time.monotonic() + 20
        while not (project.top / "planted").exists() and time.monotonic() < until:
            time.sleep(0.02)
        other.call(_bring_back, project.top)  # over the first one's text, which has long been read
        first.join()
    return project.obeyed()


def _plant_then_hide(top):
    import time

    with open(f"{top}/.mcp.json", "w") as file:
        file.write('{"mcpServers": {}}')
    open(f"{top}/planted", "w").close()
    for _ in range(500):
        if os.path.exists(f"{top}/second"):
            break
        time.sleep(0.02)
    os.link(f"{top}/.mcp.json", f"{top}/kept")
    os.unlink(f"{top}/.mcp.json")
    open(f"{top}/hidden", "w").close()
    time.sleep(0.2)


def _bring_back(top):
    import time

    open(f"{top}/second", "w").close()
    for _ in range(500):
        if os.path.exists(f"{top}/hidden"):
            break
        time.sleep(0.02)
    time.sleep(1.5)  # the first run has ended by now, and was looked at
    os.link(f"{top}/kept", f"{top}/.mcp.json")
