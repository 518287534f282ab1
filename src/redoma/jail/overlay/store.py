"""The store of overlays: made for a run, found again by name, used again while empty, removed.

The record of an overlay lies in the state directory, wherever the overlay itself is. Most commands
only read: making an overlay is cheap, but some disks take milliseconds to remove a directory. So
one that is as empty as it was made is put aside, and gets a new name and a new beginning.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from contextlib import suppress

from redoma.base import own_directories
from redoma.base.cores import json_line
from redoma.base.identity import identity, is_running, short_id
from redoma.base.paths import is_below
from redoma.jail.overlay.beneath import is_mark
from redoma.jail.overlay.placement import (
    COPY,
    OVERLAY,
    Mounts,
    OverlayPlace,
    place_for,
    place_for_copy,
)
from redoma.model.message import Message
from redoma.model.value import Value, fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECORD_VERSION = 1
_LARGEST_RECORD = 1 << 20
# Root starts a command as someone who has to pass here; the directory above is closed to others.
_PASSAGE = 0o711
_IDLE = ".idle"  # ends the name of a spare one's record
_MOST_SPARES = 32
# The kernel takes a run's mounts away a little after its last process: until then it uses them.
_REST = 0.5


class Overlay(Value):
    """What one run wrote; `upper` has each changed path as the command left it."""

    id: str
    workspace: str
    # Ours alone: `upper` and, for an overlay, the kernel's own `work`.
    directory: str
    kind: str = OVERLAY
    # Whether what lies here can be renamed into the workspace; else applying copies.
    renames: bool = True
    # Whether what lies here is memory: no process is told to have written it.
    in_memory: bool = False
    # When the run could begin: the time of the audit log, which is written no more after that.
    began_ns: int = 0
    # The process that made it, as `PID-START`.
    maker: str = ""
    # Paths below the workspace where something else is mounted: read-only inside, in no overlay.
    mounts: tuple[str, ...] = ()
    # What a person should know of this overlay.
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


def overlay_record(overlay: Overlay) -> str:
    """An overlay's record; names that are no UTF-8 come back as they were."""
    return json_line({"version": RECORD_VERSION, **fields_of(overlay)})


def read_overlay_record(path: str) -> Overlay | None:
    """The overlay of an audit log, or None where it is none that this version reads."""
    import json  # a plain run only writes

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
        overlay = Overlay(**{**found, **lists, "began_ns": written})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return overlay


def _is_sound(found: dict[str, Any]) -> bool:
    texts = [found[name] for name in ("id", "workspace", "directory", "kind", "maker")]
    return (
        all(isinstance(text, str) for text in (*texts, *found["notes"]))
        and found["kind"] in (OVERLAY, COPY)
        and found["workspace"].startswith("/")
        and found["directory"].startswith("/")
        and os.path.basename(found["directory"]) == found["id"]
    )


def make_overlay(
    workspace: str, base: OverlayPlace | None = None, *, notes: tuple[str, ...] = ()
) -> Overlay:
    """An empty overlay over the workspace, or a copy of it where there is no overlay to be had."""
    base = base or place_for(workspace)
    _passage(f"{own_directories.made_state()}/layers")
    _passage(base.overlays)
    name = short_id()
    directory = f"{base.overlays}/{name}"
    status = os.stat(workspace)
    overlay = Overlay(
        id=name,
        workspace=workspace,
        directory=directory,
        kind=base.kind,
        renames=base.renames,
        in_memory=base.in_memory,
        maker=identity(os.getpid()),
        notes=(*base.notes, *notes),
    )
    if overlay.is_copy:
        overlay = _with_mounts(overlay)
    overlay = recorded(overlay)
    try:
        for place in (directory, overlay.upper, overlay.work):
            os.mkdir(place, 0o700)
            if os.geteuid() == 0 != (status.st_uid or status.st_gid):
                os.chown(place, status.st_uid, status.st_gid)
        if overlay.is_copy:
            from redoma.jail.overlay.copies import copy_tree

            copy_tree(workspace, overlay.upper, frozenset(overlay.mounts))
            overlay = recorded(overlay)  # what is copied is from before the run
        take_after(overlay.upper, workspace, status)
    except BaseException:
        remove_overlay(overlay)
        raise
    return overlay


def _with_mounts(overlay: Overlay) -> Overlay:
    """The overlay, with what is mounted inside its workspace: no change of that can be applied."""
    mounts = Mounts()
    points = mounts.outermost(overlay.workspace)
    notes = [
        Message("{point} is another file system: it cannot be written in this run", point=point)
        if mounts.can_be_shown(point)
        else Message("{point} is another file system: it is not shown in this run", point=point)
        for point in points
    ]
    below = tuple(point.removeprefix(overlay.workspace.rstrip("/") + "/") for point in points)
    return replace(overlay, mounts=below, notes=(*overlay.notes, *notes))


def take_after(upper: str, workspace: str, status: os.stat_result) -> None:
    """Gives the overlay's own directory the workspace's attributes: inside, it is the workspace."""
    for name in os.listxattr(workspace):
        if not is_mark(name) and not name.startswith("security."):
            with suppress(OSError):
                os.setxattr(upper, name, os.getxattr(workspace, name))
    os.chmod(upper, status.st_mode & 0o7777)
    os.utime(upper, ns=(status.st_atime_ns, status.st_mtime_ns))


def maker_lives(overlay: Overlay) -> bool:
    """Whether the process that made an overlay is still there, and may be filling it."""
    return is_running(overlay.maker)


def find_overlay(name: str) -> Overlay | None:
    """The overlay with this name."""
    if not name.isalnum():
        return None  # Attack: a name with `..` in it would lead to a record of someone's own making
    return read_overlay_record(record_of(name))


def overlays() -> list[Overlay]:
    """Every overlay that is recorded, finished or not."""
    found = []
    try:
        names = os.listdir(f"{own_directories.state()}/layers")
    except FileNotFoundError:
        return []  # no run ever had one
    for name in sorted(names):
        if name.endswith(".json") and (overlay := find_overlay(name.removesuffix(".json"))):
            found.append(overlay)
    return found


def remove_overlay(overlay: Overlay) -> None:
    """Removes an overlay and its record."""
    try:
        for place in (overlay.upper, f"{overlay.work}/work", overlay.work, overlay.directory):
            os.rmdir(place)  # nothing was written: the usual case, and the cheapest way
    except OSError:
        from redoma.jail.protect.untrusted_paths import remove_tree

        remove_tree(overlay.directory)
    with suppress(FileNotFoundError):
        os.unlink(record_of(overlay.id))


def _passage(path: str) -> None:
    """Makes a directory that others may pass through, but not list."""
    with suppress(FileExistsError):
        os.mkdir(path)
        os.chmod(path, _PASSAGE)


def record_of(name: str, ending: str = ".json") -> str:
    """Where the record of an overlay with this name lies."""
    return f"{own_directories.state()}/layers/{name}{ending}"


def recorded(overlay: Overlay) -> Overlay:
    """The overlay, beginning now, when its record is written."""
    fd = os.open(record_of(overlay.id), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(overlay_record(overlay))
        file.flush()
        file.truncate()  # after writing: to free a block and take one again is slow
        return replace(overlay, began_ns=os.fstat(fd).st_mtime_ns)


_lock = allocate_lock()
_spares: list[tuple[float, Overlay]] = []


def _in_a_child() -> None:
    """A forked child has none of our runs, and what its parent keeps is not its own."""
    global _lock  # noqa: PLW0603 — the parent's may be held for ever
    _lock = allocate_lock()
    _spares.clear()


os.register_at_fork(after_in_child=_in_a_child)


def open_overlay(workspace: str, *, notes: tuple[str, ...] = (), copied: str = "") -> Overlay:
    """An empty overlay over the workspace: one that was put aside, or a new one.

    `copied` is why it has to be a copy, where it has to.
    """
    if copied:
        return make_overlay(workspace, place_for_copy(workspace, copied), notes=notes)
    base = place_for(workspace)
    overlay = _taken_spare(workspace, base)
    if overlay is not None:
        with suppress(OSError):
            return _begun_anew(overlay, (*base.notes, *notes))
    return make_overlay(workspace, base, notes=notes)


def put_aside(overlay: Overlay) -> None:
    """Keeps an overlay that holds no change; removes it where something was written after all."""
    with suppress(OSError):  # whatever is left is found by who collects garbage
        with _lock:
            if (
                not overlay.is_copy
                and len(_spares) < _MOST_SPARES
                and not os.listdir(overlay.upper)
            ):
                os.rename(record_of(overlay.id), record_of(overlay.id, _IDLE))
                _spares.append((time.monotonic(), overlay))
                return
        remove_overlay(overlay)


def remove_spares() -> None:
    """Removes what this process put aside, and what a process that is gone did."""
    with _lock:
        while _spares:
            _remove_spare(_spares.pop()[1])
    directory = os.path.dirname(record_of(""))
    for name in os.listdir(directory) if os.path.isdir(directory) else ():
        if name.endswith(_IDLE):
            overlay = read_overlay_record(f"{directory}/{name}")
            if overlay is not None and not maker_lives(overlay):
                _remove_spare(overlay)


def _remove_spare(overlay: Overlay) -> None:
    remove_overlay(overlay)
    with suppress(FileNotFoundError):
        os.unlink(record_of(overlay.id, _IDLE))


def _taken_spare(workspace: str, base: OverlayPlace) -> Overlay | None:
    now = time.monotonic()
    with _lock:
        for place, (since, overlay) in enumerate(_spares):
            fits = overlay.workspace == workspace and is_below(overlay.directory, base.overlays)
            if fits and now - since > _REST:
                del _spares[place]
                return overlay
    return None


def _begun_anew(old: Overlay, notes: tuple[str, ...]) -> Overlay:
    """The same directories under a new name: nobody takes one run's overlay for another's."""
    name = short_id()
    directory = f"{os.path.dirname(old.directory)}/{name}"
    os.rename(old.directory, directory)
    new = replace(old, id=name, directory=directory, notes=notes)
    os.rename(record_of(old.id, _IDLE), record_of(name))
    new = recorded(new)
    take_after(new.upper, new.workspace, os.stat(new.workspace))
    return new
