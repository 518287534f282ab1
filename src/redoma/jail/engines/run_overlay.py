"""The layer of one run: opened before it, mounted over its workspace, and kept after it."""

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
def layer_over(workspace: str, frame: Frame, onto: str = "") -> Iterator[Overlay]:
    """A layer, which stays unless the run cannot be done; `onto` names one that is gone on with."""
    if onto:
        yield held_before(onto, workspace)
        return
    aside = [f"{path} is written directly: not held" for path, _ in frame.writable]
    aside += [f"{path} is written in memory only: not shown" for path in frame.forgotten]
    try:
        layer = open_overlay(workspace, notes=tuple(aside))
    except OSError as error:
        raise EngineFailed(
            f"what is written in {workspace} cannot be held: {error}",
            hint="see that there is space left on the disk; redoma gc",
        ) from error
    try:
        yield layer
    except BaseException:
        remove_overlay(layer)
        raise


def held_before(name: str, workspace: str) -> Overlay:
    """The layer of held changes that another run goes on from; it stays, whatever becomes of it."""
    layer = find_overlay(name)
    # Attack: the layer of another workspace would put that one's files here.
    if layer is None or layer.workspace != workspace or not os.path.isdir(layer.upper):
        raise PreviewGone(f"{name} holds no changes of {workspace}", hint="redoma history")
    return layer


def cover(
    layer: Overlay,
    place: Callable[[str], str],
    stage: Stage | None,
    show: Callable[[str, str], list[str]],
) -> list[str]:
    """The mount of a layer over its workspace; `place` says where that is found.

    `show` gives the mount of what can be read and not written.
    """
    held = layer.directory
    if stage is not None:
        # What is written belongs on disk to the workspace's owner, not to nobody. All layers are
        # staged as one: a mount more would cost every launcher that comes after.
        above, _, name = held.rpartition("/")
        owner = os.stat(layer.workspace)
        held = f"{stage.staged(above, owner.st_uid, owner.st_gid)}/{name}"
    if layer.is_copy:
        return ["--bind", f"{held}/upper", layer.workspace, *_mounted(layer, show)]
    source = ["--overlay-src", place(layer.workspace)]
    return [*source, "--overlay", f"{held}/upper", f"{held}/work", layer.workspace]


def _mounted(layer: Overlay, show: Callable[[str, str], list[str]]) -> list[str]:
    """What is mounted inside a workspace that was copied: to be read, or covered."""
    if not layer.mounts:
        return []
    made: list[str] = []
    mounts = Mounts()
    for below in layer.mounts:
        point = f"{layer.workspace}/{below}"
        if mounts.can_be_shown(point):
            made += show(point, point)
        elif os.path.isdir(point):
            made += ["--perms", "0555", "--tmpfs", point, "--remount-ro", point]
        else:
            made += ["--ro-bind", "/dev/null", point]
    return made


def ours(
    layer: Overlay, place: Callable[[str], str], *, as_nobody: bool
) -> list[tuple[OwnPartMounts, str]]:
    """What Redoma itself is made of in the workspace of a layer, and where that is found."""
    if not installation.parts_below(layer.workspace):
        return []
    from redoma.jail.protect.covers import OwnPartMounts

    return [(OwnPartMounts(layer.workspace, as_nobody=as_nobody), place(layer.workspace))]


def used(directory: str) -> int:
    """How much of a file system is used, by whomever."""
    status = os.statvfs(directory)
    return (status.f_blocks - status.f_bfree) * status.f_frsize
