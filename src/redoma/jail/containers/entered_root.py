"""Builds the root that root's command gets, from outside, in the mounts of a running container.

An engine mounts what it is told as it is on disk, where root's files are root's. So the engine
gives root's container its namespaces, its limits and its filter, and no file; the first process,
which is nobody's, waits while the same root that every other engine shows is built beside it, put
over its own, and the engine's root is taken away from under it.
"""

from __future__ import annotations

import os

from redoma.base.paths import is_within
from redoma.jail.engines import view
from redoma.jail.forkserver.messages import SandboxDescription
from redoma.jail.forkserver.root import Root
from redoma.jail.kernel import mounts, syscalls
from redoma.jail.protect import installation
from redoma.model.grant import NOBODYS_UID, Home

# Made by the engine for this container: what a process may see there is masked already.
_ENGINES_OWN = ("/proc", "/dev")
_NOT_OURS = (*_ENGINES_OWN, "/sys")
# A directory that the image has, and on which the new root stands for a moment.
_PLACE = "/tmp"


def programs_to_begin_with() -> list[str]:
    """The mounts by which the first process starts at all; they go with the engine's root."""
    made: list[str] = []
    seen = view.build(Home.NOTHING, home="/nonexistent", path="")
    for source, target in seen.binds:
        if target != "/etc":
            made += ["--ro-bind", source, target]
    for target, link in seen.links:
        made += ["--symlink", target, link]
    if not any(is_within(installation.INTERPRETER, place) for _, place in seen.binds):
        beside = os.path.dirname(os.path.dirname(installation.INTERPRETER))
        made += ["--ro-bind", beside, beside]
    return made


def leave_stage(home: int) -> int:
    """Goes to the mounts behind a descriptor; a descriptor of those where the stage is."""
    stage = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    syscalls.enter(home, syscalls.CLONE_NEWNS)
    return stage


def build(first: int, options: list[str], *, stage: int, home: int) -> None:
    """Gives the container of this first process the root that `options` describe.

    For a process with one thread. What the root is made of is found at `stage`; afterwards the
    process is at `home` again.
    """
    theirs = os.open(f"/proc/{first}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.enter(stage, syscalls.CLONE_NEWNS)
        tree = _built(options)
        syscalls.enter(theirs, syscalls.CLONE_NEWNS)
        _put(tree)
    finally:
        syscalls.enter(home, syscalls.CLONE_NEWNS)
        os.close(theirs)
        os.close(stage)


def _built(options: list[str]) -> int:
    """A descriptor of the whole new root, which is mounted nowhere."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    root = Root(no_user_namespaces=False)
    root.owner = (NOBODYS_UID, NOBODYS_UID)
    root.begin()
    # What is made is nobody's, and an overlay does in nobody's name what a command asks of it.
    with syscalls.files_of(NOBODYS_UID):
        root.add(
            [
                step
                for step in SandboxDescription(options).steps
                if not any(is_within(step.place, own) for own in _NOT_OURS)
            ]
        )
    return root.taken()


def _put(tree: int) -> None:
    mounts.attach(tree, _PLACE)
    os.close(tree)
    for place in _ENGINES_OWN:
        mounts.move(place, _PLACE + place)
    os.chdir(_PLACE)
    mounts.pivot(".", ".")
    syscalls.detach(".")
    os.chdir("/")
