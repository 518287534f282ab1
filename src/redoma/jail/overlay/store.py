"""Where layers lie: made for a run, found again by name, removed without a trace.

A layer lies on the workspace's own file system if that can be had, so that what it holds is applied
by renaming, whatever its size. Its record lies in the state directory, wherever the layer is.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base.ids import short_id
from redoma.jail import places
from redoma.jail.kernel import cgroups
from redoma.jail.kernel.standing import is_machines_root
from redoma.jail.overlay import layer as layers_of
from redoma.jail.overlay.filesystems import NO_COVER, Mounts, takes_no_layers
from redoma.jail.overlay.layer import COPY, OVERLAY, Layer
from redoma.jail.overlay.marks import is_mark, names_others
from redoma.model.errors import EngineFailed
from redoma.model.value import Value, replace

_SHARED_MEMORY = "/dev/shm"
_MEMORY = ("tmpfs", "ramfs")
_TRIED = "user.redoma"
# Root starts a command as someone who has to pass here; the directory above is closed to others.
_PASSAGE = 0o711


class Base(Value):
    """A directory of ours for layers of one workspace, and what is to be had there."""

    directory: str
    kind: str = OVERLAY
    renames: bool = True
    in_memory: bool = False
    notes: tuple[str, ...] = ()

    @property
    def layers(self) -> str:
        """The directory of the layers themselves; others may pass through it, but not list it."""
        return f"{self.directory}/layers"


def base_of(workspace: str) -> Base:
    """The best place for layers of this workspace."""
    mounts = Mounts()
    status = os.stat(workspace)
    owner = (status.st_uid, status.st_gid, os.geteuid(), os.getegid(), names_others(workspace))
    key = (workspace, mounts.text, owner, places.state())
    known = _bases.get(key)
    if known is None or not places.ours(known.directory):
        _bases.clear()
        known = _bases[key] = _best(workspace, mounts)
    return known


# The place that was found last, and all that it depends on.
_bases: dict[tuple[object, ...], Base] = {}


def _best(workspace: str, mounts: Mounts) -> Base:
    here = mounts.of(workspace)
    below = mounts.below(workspace)
    if below:
        # An overlay does not show what is mounted inside the directory it covers.
        return _copied(mounts, workspace, f"{below[0]} is mounted inside the workspace")
    if here.kind in NO_COVER:
        return _copied(mounts, workspace, f"the kernel takes no {here.kind} below a layer")
    if is_machines_root() and takes_no_layers(here.kind):
        # Its owner's files have to appear as those of someone who is not root.
        return _copied(mounts, workspace, f"{here.kind} cannot show its files as another user's")
    status = os.stat(workspace)
    if not is_machines_root() and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        # In a user namespace only one user and one group have a name: the kernel copies no file
        # of another's into a layer.
        return _copied(mounts, workspace, "it belongs to another user or group than yours")
    if names_others(workspace):
        # The kernel copies no list into a layer that names someone who has no name there.
        return _copied(mounts, workspace, "its access list names other users or groups")
    own = f"redoma-{os.geteuid()}"
    state = os.path.realpath(places.made_state())
    for directory in (state, f"/var/tmp/{own}", f"{here.point.rstrip('/')}/.{own}"):
        beside = mounts.of(_above(directory)).id == here.id
        if beside and _fits(directory, workspace, mounts):
            return Base(directory=directory, in_memory=here.kind in _MEMORY)
    if _fits(state, workspace, mounts):
        note = "the layer is on another file system than the workspace: applying it copies"
        memory = mounts.of(state).kind in _MEMORY
        return Base(directory=state, renames=False, in_memory=memory, notes=(note,))
    shared = f"{_SHARED_MEMORY}/{own}"
    if _fits(shared, workspace, mounts):
        note = "the layer is in memory, since no disk here takes one: it is lost at a restart"
        return Base(directory=shared, renames=False, in_memory=True, notes=(note,))
    return _copied(mounts, workspace, "no file system here takes a layer")


def _copied(mounts: Mounts, workspace: str, why: str) -> Base:
    """A place for a copy of the whole workspace: on a disk, else in memory."""
    own = f"redoma-{os.geteuid()}"
    for directory in (os.path.realpath(places.made_state()), f"{_SHARED_MEMORY}/{own}"):
        if os.geteuid() == 0:
            fits = _fits(directory, workspace, mounts)
        else:
            fits = not _inside(directory, workspace)
        if fits:
            at = mounts.of(directory)
            return Base(
                directory=directory,
                kind=COPY,
                renames=at.id == mounts.of(workspace).id,
                in_memory=at.kind in _MEMORY,
                notes=(f"the whole workspace was copied, since {why}",),
            )
    raise EngineFailed(
        f"the changes of a command in {workspace} cannot be held, since {why}",
        hint="set XDG_STATE_HOME to a directory on a disk, outside of the workspace",
    )


def _inside(directory: str, workspace: str) -> bool:
    return directory == workspace or directory.startswith(workspace + "/")


def _above(directory: str) -> str:
    """A directory itself, or the one in which it would be made."""
    return directory if os.path.isdir(directory) else os.path.dirname(directory)


def _fits(directory: str, workspace: str, mounts: Mounts) -> bool:
    """Whether layers for the workspace can lie in this directory, which is made if need be."""
    if _inside(directory, workspace):
        return False  # the kernel refuses a layer inside what it covers, and it is in people's way
    at = mounts.of(_above(directory))
    if takes_no_layers(at.kind):
        return False
    if not os.access(_above(directory), os.W_OK) or not places.ours(directory):
        return False
    return _takes_attributes(directory)


def _takes_attributes(directory: str) -> bool:
    """Whether replaced directories could be marked there: without that they cannot be made."""
    with suppress(OSError):
        os.getxattr(directory, _TRIED)
        return True
    with suppress(OSError):
        os.setxattr(directory, _TRIED, b"layers")
        return True
    return False


def open_layer(workspace: str, base: Base | None = None, *, notes: tuple[str, ...] = ()) -> Layer:
    """An empty layer over the workspace, or a copy of it where there is no layer to be had."""
    base = base or base_of(workspace)
    _records()
    name = short_id()
    directory = f"{base.layers}/{name}"
    status = os.stat(workspace)
    with suppress(FileExistsError):
        os.mkdir(base.layers)
        os.chmod(base.layers, _PASSAGE)
    layer = Layer(
        id=name,
        workspace=workspace,
        directory=directory,
        kind=base.kind,
        renames=base.renames,
        in_memory=base.in_memory,
        maker=_this_process(),
        notes=(*base.notes, *notes),
    )
    if layer.kind == COPY:
        layer = _with_mounts(layer)
    layer = recorded(layer)
    try:
        for place in (directory, layer.upper, layer.work):
            os.mkdir(place, 0o700)
            if os.geteuid() == 0 != (status.st_uid or status.st_gid):
                os.chown(place, status.st_uid, status.st_gid)
        if layer.kind == COPY:
            from redoma.jail.overlay.copying import copy_tree

            copy_tree(workspace, layer.upper, frozenset(layer.mounts))
            layer = recorded(layer)  # what is copied is from before the run
        take_after(layer.upper, workspace, status)
    except BaseException:
        remove_layer(layer)
        raise
    return layer


def _with_mounts(layer: Layer) -> Layer:
    """The layer, with what is mounted inside its workspace: no change of that could be applied."""
    mounts = Mounts()
    points = mounts.outermost(layer.workspace)
    notes = [
        f"{point} is another file system: it cannot be written in this run"
        if mounts.can_be_shown(point)
        else f"{point} is another file system: it is not shown in this run"
        for point in points
    ]
    below = tuple(point.removeprefix(layer.workspace.rstrip("/") + "/") for point in points)
    return replace(layer, mounts=below, notes=(*layer.notes, *notes))


def take_after(upper: str, workspace: str, status: os.stat_result) -> None:
    """Gives the layer's own directory the workspace's attributes: inside, it is the workspace."""
    for name in os.listxattr(workspace):
        if not is_mark(name) and not name.startswith("security."):
            with suppress(OSError):
                os.setxattr(upper, name, os.getxattr(workspace, name))
    os.chmod(upper, status.st_mode & 0o7777)
    os.utime(upper, ns=(status.st_atime_ns, status.st_mtime_ns))


def _this_process() -> str:
    pid = os.getpid()
    return f"{pid}-{cgroups.started(pid)}"


def maker_lives(layer: Layer) -> bool:
    """Whether the process that made a layer is still there, and may be filling it."""
    return cgroups.maker_lives(layer.maker)


def find_layer(name: str) -> Layer | None:
    """The layer with this name."""
    if not name.isalnum():
        return None  # Attack: a name with `..` in it would lead to a record of someone's own making
    return layers_of.from_file(record_of(name))


def layers() -> list[Layer]:
    """Every layer that is recorded, finished or not."""
    found = []
    try:
        names = os.listdir(f"{places.state()}/layers")
    except FileNotFoundError:
        return []  # no run ever had one
    for name in sorted(names):
        if name.endswith(".json") and (layer := find_layer(name.removesuffix(".json"))):
            found.append(layer)
    return found


def remove_layer(layer: Layer) -> None:
    """Removes a layer and its record."""
    try:
        for place in (layer.upper, f"{layer.work}/work", layer.work, layer.directory):
            os.rmdir(place)  # nothing was written: the usual case, and the cheapest way
    except OSError:
        from redoma.jail.protect.untrusted_paths import remove_tree

        remove_tree(layer.directory)
    with suppress(FileNotFoundError):
        os.unlink(record_of(layer.id))


def _records() -> str:
    path = f"{places.made_state()}/layers"
    with suppress(FileExistsError):
        os.mkdir(path)
        os.chmod(path, _PASSAGE)
    return path


def record_of(name: str) -> str:
    """Where the record of a layer with this name lies."""
    return f"{places.state()}/layers/{name}.json"


def recorded(layer: Layer) -> Layer:
    """The layer, beginning now, when its record is written."""
    fd = os.open(record_of(layer.id), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(layers_of.to_text(layer))
        file.flush()
        file.truncate()  # after writing: to free a block and take one again is slow
        return replace(layer, began_ns=os.fstat(fd).st_mtime_ns)
