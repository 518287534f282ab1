"""The overlay of one run: opened before it, mounted over its workspace, and kept after it."""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.jail.overlay.placement import Mounts
from redoma.jail.overlay.store import find_overlay, open_overlay, remove_overlay
from redoma.jail.protect import installation
from redoma.model.errors import EngineFailed, PreviewGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.jail.engines.frame import Frame
    from redoma.jail.kernel.stage import Stage
    from redoma.jail.overlay.store import Overlay
    from redoma.jail.protect.covers import OwnPartMounts


@contextmanager
def overlay_over(
    workspace: str, frame: Frame, onto: str = "", *, copied: str = ""
) -> Iterator[Overlay]:
    """An overlay that stays unless the run cannot be done; `onto` names one to go on with.

    `copied` is why it has to be a copy, where it has to.
    """
    if onto:
        before = held_before(onto, workspace)
        if copied and not before.is_copy:
            raise EngineFailed(
                f"{onto} cannot be gone on with: {copied}", hint="redoma run --engine bubblewrap"
            )
        yield before
        return
    aside = [f"{path} is written directly: not held" for path, _ in frame.writable]
    aside += [f"{path} is written in memory only: not shown" for path in frame.forgotten]
    try:
        overlay = open_overlay(workspace, notes=tuple(aside), copied=copied)
    except OSError as error:
        raise EngineFailed(
            f"what is written in {workspace} cannot be held: {error}",
            hint="see that there is space left on the disk; redoma gc",
        ) from error
    try:
        yield overlay
    except BaseException:
        remove_overlay(overlay)
        raise


def held_before(name: str, workspace: str) -> Overlay:
    """The overlay of held changes that another run goes on from; it stays in any case."""
    overlay = find_overlay(name)
    # Attack: the overlay of another workspace would put that one's files here.
    if overlay is None or overlay.workspace != workspace or not os.path.isdir(overlay.upper):
        raise PreviewGone(f"{name} holds no changes of {workspace}", hint="redoma history")
    return overlay


def cover(
    overlay: Overlay,
    place: Callable[[str], str],
    stage: Stage | None,
    show: Callable[[str, str], list[str]],
) -> list[str]:
    """The mount of an overlay over its workspace; `place` says where that is found.

    `show` gives the mount of what can be read and not written.
    """
    held = overlay.directory
    if stage is not None:
        # What is written belongs on disk to the workspace's owner, not to nobody. All overlays are
        # staged as one: a mount more would cost every launcher that comes after.
        above, _, name = held.rpartition("/")
        owner = os.stat(overlay.workspace)
        held = f"{stage.staged(above, owner.st_uid, owner.st_gid)}/{name}"
    if overlay.is_copy:
        return ["--bind", f"{held}/upper", overlay.workspace, *_mounted(overlay, show)]
    source = ["--overlay-src", place(overlay.workspace)]
    return [*source, "--overlay", f"{held}/upper", f"{held}/work", overlay.workspace]


def _mounted(overlay: Overlay, show: Callable[[str, str], list[str]]) -> list[str]:
    """What is mounted inside a workspace that was copied: to be read, or covered."""
    if not overlay.mounts:
        return []
    made: list[str] = []
    mounts = Mounts()
    for below in overlay.mounts:
        point = f"{overlay.workspace}/{below}"
        if mounts.can_be_shown(point):
            made += show(point, point)
        elif os.path.isdir(point):
            made += ["--perms", "0555", "--tmpfs", point, "--remount-ro", point]
        else:
            made += ["--ro-bind", "/dev/null", point]
    return made


def ours(
    overlay: Overlay, place: Callable[[str], str], *, as_nobody: bool
) -> list[tuple[OwnPartMounts, str]]:
    """What Redoma itself is made of in the workspace of an overlay, and where that is found."""
    if not installation.parts_below(overlay.workspace):
        return []
    from redoma.jail.protect.covers import OwnPartMounts

    return [(OwnPartMounts(overlay.workspace, as_nobody=as_nobody), place(overlay.workspace))]


def used(directory: str) -> int:
    """How much of a file system is used, by whomever."""
    status = os.statvfs(directory)
    return (status.f_blocks - status.f_bfree) * status.f_frsize
