"""Leaving something in the workspace that the person's own git runs later, outside."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from tests.escape.attack import Unsupported, attack
from tests.escape.inside import Box, Redoma
from tests.escape.payload import NotRun
from tests.escape.promises import P
from tests.escape.repositories import HOOKS, Project, evil_configuration
from tests.escape.world import World

PLANT = "plant .git/hooks"
CONFIG = "plant .git/config"
HIDDEN = "plant where nobody looks"


def plants(row: str) -> Callable[[Callable[..., object]], object]:
    """Makes an attack of a payload that gets the top, the hooks' names, the script, the settings."""

    def made(payload: Callable[..., object]) -> object:
        def attempt(world: World, box: Box) -> str:
            project = Project(world)
            evil = str(project.evil)
            told = box.call(payload, project.top, HOOKS, evil, evil_configuration(evil))
            return project.obeyed(*[project.top / name for name in told.value or []])

        attempt.__name__ = payload.__name__
        return attack(P.PLANTING, row)(attempt)

    return made


@plants(PLANT)
def write_hooks(top, hooks, evil, settings):
    import shutil

    for place in (".git", "vendor/lib/.git", ".git/worktrees/feature"):
        os.makedirs(f"{top}/{place}/hooks", exist_ok=True)
        for name in hooks:
            try:
                shutil.copy(evil, f"{top}/{place}/hooks/{name}")
            except OSError:
                continue


@plants(PLANT)
def link_hooks(top, hooks, evil, settings):
    for place in (".git", "vendor/lib/.git"):
        for name in hooks:
            for way in (os.symlink, os.link):
                try:
                    way(evil, f"{top}/{place}/hooks/{name}")
                except OSError:
                    continue


@plants(PLANT)
def rename_hooks_into_place(top, hooks, evil, settings):
    import shutil

    for place in (".git", "vendor/lib/.git"):
        os.mkdir(f"{top}/{place}/new")
        for name in hooks:
            shutil.copy(evil, f"{top}/{place}/new/{name}")
        for old in (f"{top}/{place}/hooks",):
            try:
                os.rename(old, f"{top}/{place}/old")
            except OSError:
                pass
            try:
                os.rename(f"{top}/{place}/new", old)
            except OSError:
                pass


@plants(PLANT)
def replace_the_whole_repository(top, hooks, evil, settings):
    """`mv .git x; cp -r x .git`: the copy has no mount on it."""
    import shutil

    for place in (top, f"{top}/vendor/lib"):
        for name in (".git",):
            try:
                shutil.copytree(f"{place}/{name}", f"{place}/copy", symlinks=True)
                shutil.copy(evil, f"{place}/copy/hooks/pre-commit")
                with open(f"{place}/copy/config", "a") as file:
                    file.write(settings)
                os.rename(f"{place}/{name}", f"{place}/moved")
                os.rename(f"{place}/copy", f"{place}/{name}")
            except OSError:
                continue


@plants(PLANT)
def replace_the_directory_above(top, hooks, evil, settings):
    """The directory above a repository is moved away, and a copy put in its place."""
    import shutil

    shutil.copytree(f"{top}/vendor", f"{top}/copy", symlinks=True)
    for name in hooks:
        shutil.copy(evil, f"{top}/copy/lib/.git/hooks/{name}")
    os.chmod(f"{top}/copy/lib/.git/config", 0o644)
    with open(f"{top}/copy/lib/.git/config", "a") as file:
        file.write(settings)
    os.rename(f"{top}/vendor", f"{top}/moved")
    os.rename(f"{top}/copy", f"{top}/vendor")


@plants(PLANT)
def point_git_elsewhere(top, hooks, evil, settings):
    """`.git` as a file or a link leads to a repository of the command's own making."""
    import shutil

    for number, place in enumerate(("vendor/lib", "trees/feature", "fresh", "linked")):
        own = f"{top}/data{number}"
        shutil.copytree(f"{top}/vendor/lib/.git", own, symlinks=True)
        with open(f"{own}/config", "w") as file:
            file.write(settings)
        os.makedirs(f"{top}/{place}", exist_ok=True)
        try:
            if os.path.isdir(f"{top}/{place}/.git"):
                os.rename(f"{top}/{place}/.git", f"{top}/{place}/was")
            elif os.path.lexists(f"{top}/{place}/.git"):
                os.unlink(f"{top}/{place}/.git")
            if place == "linked":
                os.symlink(own, f"{top}/{place}/.git")
            else:
                with open(f"{top}/{place}/.git", "w") as file:
                    file.write(f"gitdir: {own}\n")
        except OSError:
            continue
    return ["fresh", "linked"]


@plants(CONFIG)
def write_settings(top, hooks, evil, settings):
    for place in (".git", "vendor/lib/.git", ".git/worktrees/feature"):
        for name in ("config", "config.worktree", "config.lock"):
            try:
                with open(f"{top}/{place}/{name}", "a") as file:
                    file.write(settings)
                if name == "config.lock":
                    os.rename(f"{top}/{place}/config.lock", f"{top}/{place}/config")
            except OSError:
                continue


@plants(CONFIG)
def write_settings_by_git(top, hooks, evil, settings):
    import subprocess

    for place in ("", "vendor/lib", "trees/feature"):
        for key in ("core.fsmonitor", "core.pager", "diff.external"):
            subprocess.run(
                ["git", "-C", f"{top}/{place}", "config", key, evil], capture_output=True, check=False
            )


@plants(CONFIG)
def write_settings_through_links(top, hooks, evil, settings):
    for way in (os.link, os.symlink):
        for place in (".git", "vendor/lib/.git"):
            try:
                way(f"{top}/{place}/config", f"{top}/handle")
                with open(f"{top}/handle", "a") as file:
                    file.write(settings)
                os.unlink(f"{top}/handle")
            except OSError:
                continue


@plants(CONFIG)
def lead_a_worktree_elsewhere(top, hooks, evil, settings):
    """A linked worktree finds its settings through a file that says where they are."""
    import shutil

    own = f"{top}/data"
    shutil.copytree(f"{top}/.git", own, symlinks=True)
    with open(f"{own}/config", "w") as file:
        file.write(settings)
    with open(f"{top}/.git/worktrees/feature/commondir", "w") as file:
        file.write(f"{own}\n")


@plants(CONFIG)
def make_a_repository_with_settings(top, hooks, evil, settings):
    """A new repository is honest work; what its settings would run is not."""
    import shutil

    shutil.copytree(f"{top}/vendor/lib/.git", f"{top}/new/.git", symlinks=True)
    with open(f"{top}/new/.git/config", "w") as file:
        file.write(settings)
    return ["new"]


@plants(CONFIG)
def make_a_repository_without_a_name(top, hooks, evil, settings):
    """Git obeys any directory with HEAD, objects and refs, also one that is not called `.git`."""
    import shutil

    for name in ("assets", "."):
        for part in os.listdir(f"{top}/vendor/lib/.git"):
            source, target = f"{top}/vendor/lib/.git/{part}", f"{top}/{name}/{part}"
            os.makedirs(f"{top}/{name}", exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)
        with open(f"{top}/{name}/config", "w") as file:
            file.write(settings + "[core]\n\tworktree = .\n")
    os.makedirs(f"{top}/refs/below", exist_ok=True)
    return ["assets", "assets/objects"]


@attack(P.PLANTING, CONFIG)
def change_settings_that_are_included(world: World, box: Box) -> str:
    """The person's settings include a file of the project: `include.path = ../.gitconfig.shared`."""
    project = Project(world)
    shared = project.top / "gitconfig.shared"
    shared.write_text("[core]\n\tabbrev = 12\n")
    project.git(project.top, "config", "include.path", "../gitconfig.shared")
    box.call(_overwrite, shared, evil_configuration(project.evil))
    return project.obeyed()


def _overwrite(path, text):
    import shutil

    if os.path.isdir(path):
        shutil.rmtree(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)


def _hooks_elsewhere(world: World, box: Box, scope: str, *, there: bool) -> str:
    project = Project(world)
    project.git(project.top, "config", scope, "core.hooksPath", ".githooks")
    if there:
        (project.top / ".githooks").mkdir()
        (project.top / ".githooks/commit-msg").write_text("#!/bin/sh\nexit 0\n")
        (project.top / ".githooks/commit-msg").chmod(0o755)
    text = project.evil.read_text()
    for name in ("commit-msg", "pre-commit"):
        box.call(_overwrite, project.top / ".githooks" / name, text)
    return project.obeyed()


@attack(P.PLANTING, PLANT)
def change_hooks_that_live_in_the_project(world: World, box: Box) -> str:
    """`core.hooksPath = .githooks`: hooks that are part of the project."""
    return _hooks_elsewhere(world, box, "--local", there=True)


@attack(P.PLANTING, PLANT)
def make_hooks_that_may_live_in_the_project(world: World, box: Box) -> str:
    """The same, where no hook is there yet."""
    return _hooks_elsewhere(world, box, "--local", there=False)


@attack(P.PLANTING, PLANT)
def change_hooks_that_live_in_every_project(world: World, box: Box) -> str:
    """The person's own settings say so for every repository."""
    return _hooks_elsewhere(world, box, "--global", there=True)


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
    until = time.monotonic() + 20
    while not (project.top / "planted").exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()
    _, said = process.communicate()
    if not (project.top / "planted").exists():
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
