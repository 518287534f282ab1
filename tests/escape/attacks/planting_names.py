"""Leaving files that a shell, an editor, an agent or Redoma itself obeys by their name."""

from __future__ import annotations

import os
from collections.abc import Callable

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.promises import P
from tests.escape.repositories import OBEYED, Project
from tests.escape.world import World

NAMES = "plant settings of shells, editors, agents"


def plants_names(payload: Callable[..., object]) -> object:
    """Makes an attack of a payload that gets the workspace and the names."""

    def attempt(world: World, box: Box) -> str:
        project = Project(world)
        box.call(payload, project.top, OBEYED)
        return project.obeyed()

    attempt.__name__ = payload.__name__
    return attack(P.PLANTING, NAMES)(attempt)


@plants_names
def create_settings(top, names):
    for place in (top, f"{top}/vendor/lib", f"{top}/a/b/c"):
        for name in names:
            try:
                os.makedirs(os.path.dirname(f"{place}/{name}"), exist_ok=True)
                with open(f"{place}/{name}", "w") as file:
                    file.write("owned")
            except OSError:
                continue


@plants_names
def rename_settings_into_place(top, names):
    for number, name in enumerate(names):
        try:
            first, _, rest = name.partition("/")
            made = f"{top}/made{number}"
            if rest:
                os.mkdir(made)
            with open(f"{made}/{rest}" if rest else made, "w") as file:
                file.write("owned")
            os.rename(made, f"{top}/{first}")
        except OSError:
            continue


@plants_names
def link_settings_into_place(top, names):
    for number, name in enumerate(names):
        for way in (os.symlink, os.link):
            try:
                made = f"{top}/made{number}"
                with open(made, "w") as file:
                    file.write("owned")
                place = f"{top}/{way.__name__}/{name}"
                os.makedirs(os.path.dirname(place), exist_ok=True)
                way(made, place)
            except OSError:
                continue


@attack(P.PLANTING, NAMES)
def change_settings_that_are_there(world: World, box: Box) -> str:
    """Files that the person has are changed in place, replaced, or moved away with their parent."""
    project = Project(world)
    for place in (project.top, project.top / "deep/er"):
        for name in OBEYED:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text("the person's own\n")
    project.before = project.obeyed_files()
    box.call(_change, project.top, OBEYED)
    return project.obeyed() or _gone(project)


def _gone(project: Project) -> str:
    missing = sorted(project.before.keys() - project.obeyed_files().keys())
    moved = [name for name in missing if not name.startswith("deep/")]
    return f"taken away: {', '.join(moved)[:200]}" if moved else ""


def _change(top, names):
    for place in (top, f"{top}/deep/er"):
        for name in names:
            path = f"{place}/{name}"
            for way in ("append", "replace", "remove", "link", "mode", "truncate"):
                try:
                    if way == "append":
                        with open(path, "a") as file:
                            file.write("owned")
                    elif way == "replace":
                        with open(f"{top}/new", "w") as file:
                            file.write("owned")
                        os.rename(f"{top}/new", path)
                    elif way == "remove":
                        os.unlink(path)
                    elif way == "link":
                        os.link(path, f"{top}/handle")
                        with open(f"{top}/handle", "w") as file:
                            file.write("owned")
                    elif way == "mode":
                        os.chmod(path, 0o777)
                    else:
                        os.truncate(path, 0)
                except OSError:
                    continue


@attack(P.PLANTING, NAMES)
def move_settings_away_with_their_parent(world: World, box: Box) -> str:
    """The parent is moved, and another with changed files takes its place."""
    project = Project(world)
    for name in OBEYED:
        (project.top / "deep/er" / name).parent.mkdir(parents=True, exist_ok=True)
        (project.top / "deep/er" / name).write_text("the person's own\n")
    project.before = project.obeyed_files()
    box.call(_replace_parent, project.top, OBEYED)
    now = project.obeyed_files()
    changed = [
        name
        for name, trace in now.items()
        if name.startswith("deep/") and trace != project.before.get(name)
    ]
    return f"replaced {', '.join(sorted(changed))[:200]}" if changed else ""


def _replace_parent(top, names):
    os.rename(f"{top}/deep", f"{top}/away")
    for name in names:
        os.makedirs(os.path.dirname(f"{top}/deep/er/{name}"), exist_ok=True)
        with open(f"{top}/deep/er/{name}", "w") as file:
            file.write("owned")


@attack(P.PLANTING, NAMES)
def change_what_a_settings_link_leads_to(world: World, box: Box) -> str:
    """`.vscode` and `.bashrc` are links into the project: what they lead to is obeyed as well."""
    project = Project(world)
    (project.top / "editor").mkdir()
    (project.top / "editor/tasks.json").write_text("the person's own\n")
    (project.top / "rc").write_text("the person's own\n")
    (project.top / ".vscode").symlink_to("editor")
    (project.top / ".bashrc").symlink_to("rc")
    box.call(_change_links, project.top)
    for path in (project.top / ".vscode/tasks.json", project.top / ".bashrc"):
        if not path.exists() or path.read_text() != "the person's own\n":
            return f"changed {path.name}"
    return ""


def _change_links(top):
    for name in ("editor/tasks.json", "rc", ".vscode/tasks.json", ".bashrc"):
        for way in ("write", "replace"):
            try:
                if way == "write":
                    with open(f"{top}/{name}", "w") as file:
                        file.write("owned")
                else:
                    with open(f"{top}/new", "w") as file:
                        file.write("owned")
                    os.rename(f"{top}/new", f"{top}/{name}")
            except OSError:
                continue
