"""Where layers lie: made for a run, found again by name, removed without a trace.

A layer lies on the workspace's own file system if that can be had, so that what it holds is applied
by renaming, whatever its size. Its record lies in the state directory, wherever the layer is.
"""

from __future__ import annotations

import json
import os
import time
from _thread import allocate_lock
from contextlib import suppress

from redoma.base.ids import short_id
from redoma.base.process_identity import identity, is_running
from redoma.jail import places
from redoma.jail.overlay.attributes import is_mark
from redoma.jail.overlay.placement import COPY, OVERLAY, Mounts, OverlayPlace, place_for
from redoma.model.value import Value, fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECORD_VERSION = 1
_LARGEST_RECORD = 1 << 20


class Overlay(Value):
    """One run's held writes; `upper` has each changed path as the command left it."""

    id: str
    workspace: str
    # Ours alone: `upper` and, for an overlay, the kernel's own `work`.
    directory: str
    kind: str = OVERLAY
    # Whether what lies here can be renamed into the workspace; else applying copies.
    renames: bool = True
    # Whether what lies here is memory: no process is told to have written it.
    in_memory: bool = False
    # When the run could begin: the time of the record, which is written no more after that.
    began_ns: int = 0
    # The process that made it, as `PID-START`.
    maker: str = ""
    # Paths below the workspace where something else is mounted: read-only inside, in no layer.
    mounts: tuple[str, ...] = ()
    # What a person should know of this layer.
    notes: tuple[str, ...] = ()

    @property
    def is_copy(self) -> bool:
        """Whether `upper` is a copy of the whole workspace: an overlay could not be had."""
        return self.kind == COPY

    @property
    def upper(self) -> str:
        """Where the changed paths lie."""
        return f"{self.directory}/upper"

    @property
    def work(self) -> str:
        """The kernel's own directory beside it."""
        return f"{self.directory}/work"


def overlay_record(layer: Overlay) -> str:
    """A layer's record; names that are no UTF-8 come back as they were."""
    return json.dumps({"version": RECORD_VERSION, **fields_of(layer)})


def read_overlay_record(path: str) -> Overlay | None:
    """The layer of a record, or None where it is none that this version reads."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, encoding="utf-8") as file:
            found: Any = json.loads(file.read(_LARGEST_RECORD))
            written = os.fstat(fd).st_mtime_ns
        if not isinstance(found, dict) or found.pop("version", None) != RECORD_VERSION:
            return None
        if not _is_sound(found):
            return None
        lists = {name: tuple(found.get(name, ())) for name in ("notes", "mounts")}
        layer = Overlay(**{**found, **lists, "began_ns": written})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return layer


def _is_sound(found: dict[str, Any]) -> bool:
    texts = [found[name] for name in ("id", "workspace", "directory", "kind", "maker")]
    return (
        all(isinstance(text, str) for text in (*texts, *found["notes"]))
        and found["kind"] in (OVERLAY, COPY)
        and found["workspace"].startswith("/")
        and found["directory"].startswith("/")
        and os.path.basename(found["directory"]) == found["id"]
    )


# Root starts a command as someone who has to pass here; the directory above is closed to others.
_PASSAGE = 0o711


def make_overlay(
    workspace: str, base: OverlayPlace | None = None, *, notes: tuple[str, ...] = ()
) -> Overlay:
    """An empty layer over the workspace, or a copy of it where there is no layer to be had."""
    base = base or place_for(workspace)
    _records()
    name = short_id()
    directory = f"{base.overlays}/{name}"
    status = os.stat(workspace)
    with suppress(FileExistsError):
        os.mkdir(base.overlays)
        os.chmod(base.overlays, _PASSAGE)
    layer = Overlay(
        id=name,
        workspace=workspace,
        directory=directory,
        kind=base.kind,
        renames=base.renames,
        in_memory=base.in_memory,
        maker=identity(os.getpid()),
        notes=(*base.notes, *notes),
    )
    if layer.is_copy:
        layer = _with_mounts(layer)
    layer = recorded(layer)
    try:
        for place in (directory, layer.upper, layer.work):
            os.mkdir(place, 0o700)
            if os.geteuid() == 0 != (status.st_uid or status.st_gid):
                os.chown(place, status.st_uid, status.st_gid)
        if layer.is_copy:
            from redoma.jail.overlay.copies import copy_tree

            copy_tree(workspace, layer.upper, frozenset(layer.mounts))
            layer = recorded(layer)  # what is copied is from before the run
        take_after(layer.upper, workspace, status)
    except BaseException:
        remove_overlay(layer)
        raise
    return layer


def _with_mounts(layer: Overlay) -> Overlay:
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


def maker_lives(layer: Overlay) -> bool:
    """Whether the process that made a layer is still there, and may be filling it."""
    return is_running(layer.maker)


def find_overlay(name: str) -> Overlay | None:
    """The layer with this name."""
    if not name.isalnum():
        return None  # Attack: a name with `..` in it would lead to a record of someone's own making
    return read_overlay_record(record_of(name))


def overlays() -> list[Overlay]:
    """Every layer that is recorded, finished or not."""
    found = []
    try:
        names = os.listdir(f"{places.state()}/layers")
    except FileNotFoundError:
        return []  # no run ever had one
    for name in sorted(names):
        if name.endswith(".json") and (layer := find_overlay(name.removesuffix(".json"))):
            found.append(layer)
    return found


def remove_overlay(layer: Overlay) -> None:
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


def recorded(layer: Overlay) -> Overlay:
    """The layer, beginning now, when its record is written."""
    fd = os.open(record_of(layer.id), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(overlay_record(layer))
        file.flush()
        file.truncate()  # after writing: to free a block and take one again is slow
        return replace(layer, began_ns=os.fstat(fd).st_mtime_ns)


_SUFFIX = ".idle"
_MOST = 32
# The kernel takes a run's mounts away a little after its last process: until then it uses them.
_REST = 0.5
_lock = allocate_lock()
_idle: list[tuple[float, Overlay]] = []


def _in_a_child() -> None:
    """A forked child has none of our runs, and what its parent keeps is not its own."""
    global _lock  # noqa: PLW0603 — the parent's may be held for ever
    _lock = allocate_lock()
    _idle.clear()


os.register_at_fork(after_in_child=_in_a_child)


def open_overlay(workspace: str, *, notes: tuple[str, ...] = ()) -> Overlay:
    """An empty layer over the workspace: one that was put aside, or a new one."""
    base = place_for(workspace)
    layer = _taken_spare(workspace, base)
    if layer is not None:
        with suppress(OSError):
            return _begun_anew(layer, (*base.notes, *notes))
    return make_overlay(workspace, base, notes=notes)


def put_aside(layer: Overlay) -> None:
    """Keeps a layer that holds no change, or removes it where something was written after all."""
    with suppress(OSError):  # whatever is left is found by who collects garbage
        with _lock:
            if not layer.is_copy and len(_idle) < _MOST and not os.listdir(layer.upper):
                record = record_of(layer.id)
                os.rename(record, record.removesuffix(".json") + _SUFFIX)
                _idle.append((time.monotonic(), layer))
                return
        remove_overlay(layer)


def remove_spares() -> None:
    """Removes what this process put aside, and what a process that is gone did."""
    with _lock:
        while _idle:
            _remove_spare(_idle.pop()[1])
    directory = os.path.dirname(record_of(""))
    for name in os.listdir(directory) if os.path.isdir(directory) else ():
        if name.endswith(_SUFFIX):
            layer = read_overlay_record(f"{directory}/{name}")
            if layer is not None and not maker_lives(layer):
                _remove_spare(layer)


def _remove_spare(layer: Overlay) -> None:
    remove_overlay(layer)
    with suppress(FileNotFoundError):
        os.unlink(record_of(layer.id).removesuffix(".json") + _SUFFIX)


def _taken_spare(workspace: str, base: OverlayPlace) -> Overlay | None:
    now = time.monotonic()
    with _lock:
        for place, (since, layer) in enumerate(_idle):
            fits = layer.workspace == workspace and layer.directory.startswith(base.overlays + "/")
            if fits and now - since > _REST:
                del _idle[place]
                return layer
    return None


def _begun_anew(old: Overlay, notes: tuple[str, ...]) -> Overlay:
    """The same directories under a new name: nobody takes one run's layer for another's."""
    name = short_id()
    directory = f"{os.path.dirname(old.directory)}/{name}"
    os.rename(old.directory, directory)
    new = replace(old, id=name, directory=directory, notes=notes)
    os.rename(record_of(old.id).removesuffix(".json") + _SUFFIX, record_of(name))
    new = recorded(new)
    take_after(new.upper, new.workspace, os.stat(new.workspace))
    return new
