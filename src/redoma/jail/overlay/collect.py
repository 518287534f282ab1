"""Keeps what is held for undo within bounds: lets the oldest go, never one in use."""

from __future__ import annotations

import os
import time

from redoma.jail import places
from redoma.jail.overlay import kept, store
from redoma.jail.overlay.lock import locked
from redoma.jail.overlay.recovery import recover_under
from redoma.model.transaction import Freed, Standing
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.kept import Entry

_DAY = 86_400.0
# What still has something on disk.
_KEEPING = frozenset({Standing.HELD, Standing.APPLIED, Standing.UNDONE, Standing.INTERRUPTED})


class Bounds(Value):
    """How much is kept; what is older, larger or more is let go."""

    age: float = 14 * _DAY
    size: int = 2 << 30
    share: float = 0.05  # of the disk, where that is less than `size`
    count: int = 200
    lines: int = 1000  # of the history


def collect(bounds: Bounds | None = None, *, only_tell: bool = False) -> Freed:
    """Lets go of what is past the bounds, and of layers whose run never came to an end."""
    bounds = bounds or Bounds()
    with locked() as lock:
        assert lock is not None
        recover_under(lock)
        every = kept.entries()
        known = {entry.id for entry in every}
        freed: list[tuple[str, int]] = []
        for layer in store.layers():
            if layer.id not in known and not store.maker_lives(layer):
                freed.append((layer.id, kept.weight(layer.directory)))
                if not only_tell:
                    store.remove_layer(layer)
        for entry in _past(every, bounds):
            freed.append((entry.id, entry.shown.size))
            if not only_tell:
                expire(entry)
        if not only_tell:
            _shorten(bounds)
            _note_the_time()
    return Freed(ids=tuple(name for name, _ in freed), size=sum(size for _, size in freed))


def _past(every: list[Entry], bounds: Bounds) -> list[Entry]:
    """What has to go, the oldest first."""
    now = time.time()
    keeping = [entry for entry in every if entry.shown.standing in _KEEPING]
    keeping.sort(key=_moment)
    size = sum(entry.shown.size for entry in keeping)
    most = min(bounds.size, int(_disk() * bounds.share))
    count = len(keeping)
    past = []
    for entry in keeping:
        old = now - _moment(entry) > bounds.age
        # What ended half-way waits for a person, as long as anything waits.
        movable = entry.shown.standing is not Standing.INTERRUPTED
        if (old or (movable and (size > most or count > bounds.count))) and not in_use(entry):
            past.append(entry)
            size -= entry.shown.size
            count -= 1
    return past


def _moment(entry: Entry) -> float:
    return max(entry.active, entry.shown.when)


def in_use(entry: Entry) -> bool:
    """Whether the process that made a preview still lives, and may be about to apply it."""
    if entry.shown.standing is not Standing.HELD:
        return False
    layer = store.find_layer(entry.id)
    return layer is not None and store.maker_lives(layer)


def expire(entry: Entry, standing: Standing = Standing.EXPIRED) -> None:
    """Lets go of everything a transaction keeps; its line in the history stays."""
    # The line goes first: a crash leaves a layer that nobody claims, which the next round takes.
    shown = replace(entry.shown, standing=standing, size=0)
    kept.write_entry(replace(entry, shown=shown))
    kept.forget(entry.id)
    layer = store.find_layer(entry.id)
    if layer is not None:
        store.remove_layer(layer)


def _shorten(bounds: Bounds) -> None:
    over = [e for e in kept.entries() if e.shown.standing not in _KEEPING][::-1]
    total = len(kept.entries())
    for entry in over[: max(0, total - bounds.lines)]:
        kept.forget_entry(entry.id)


def _disk() -> int:
    found = os.statvfs(places.state())
    return found.f_blocks * found.f_frsize


def is_due() -> bool:
    """Whether the last round was more than a day ago."""
    try:
        return time.time() - os.stat(_stamp()).st_mtime > _DAY
    except FileNotFoundError:
        return True


def _stamp() -> str:
    return f"{kept.root()}/collected"


def _note_the_time() -> None:
    fd = os.open(_stamp(), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.utime(fd)
    finally:
        os.close(fd)
