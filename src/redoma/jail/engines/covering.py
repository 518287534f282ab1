"""The layer of one run: opened before it, mounted over its workspace, and kept after it."""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.jail.overlay.layer import COPY
from redoma.jail.overlay.spares import open_layer
from redoma.jail.overlay.store import remove_layer
from redoma.model.errors import EngineFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.jail.engines.frame import Frame
    from redoma.jail.kernel.identity import Stage
    from redoma.jail.overlay.layer import Layer


@contextmanager
def layer_over(workspace: str, frame: Frame) -> Iterator[Layer]:
    """A layer, which stays unless the run cannot be done."""
    aside = [f"{path} is written directly: not held" for path, _ in frame.writable]
    aside += [f"{path} is written in memory only: not shown" for path in frame.forgotten]
    try:
        layer = open_layer(workspace, notes=tuple(aside))
    except OSError as error:
        raise EngineFailed(
            f"what is written in {workspace} cannot be held: {error}",
            hint="see that there is space left on the disk; redoma gc",
        ) from error
    try:
        yield layer
    except BaseException:
        remove_layer(layer)
        raise


def cover(layer: Layer, place: Callable[[str], str], stage: Stage | None) -> list[str]:
    """The mount of a layer over its workspace; `place` says where that is found."""
    held = layer.directory
    if stage is not None:
        # What is written belongs on disk to the workspace's owner, not to nobody. All layers are
        # staged as one: a mount more would cost every launcher that comes after.
        above, _, name = held.rpartition("/")
        owner = os.stat(layer.workspace)
        held = f"{stage.staged(above, owner.st_uid, owner.st_gid)}/{name}"
    if layer.kind == COPY:
        return ["--bind", f"{held}/upper", layer.workspace]
    source = ["--overlay-src", place(layer.workspace)]
    return [*source, "--overlay", f"{held}/upper", f"{held}/work", layer.workspace]


def used(directory: str) -> int:
    """How much of a file system is used, by whomever."""
    status = os.statvfs(directory)
    return (status.f_blocks - status.f_bfree) * status.f_frsize
