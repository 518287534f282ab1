"""Keeps layers that nothing was written to, for the next run in the same workspace.

Most commands only read. Making a layer is cheap, but some disks take milliseconds to remove a
directory; a layer that is as empty as it was made gets a new name and a new beginning instead.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from contextlib import suppress

from redoma.base.ids import short_id
from redoma.jail.overlay import layer as records
from redoma.jail.overlay import store
from redoma.jail.overlay.layer import OVERLAY, Layer
from redoma.model.value import replace

_SUFFIX = ".idle"
_MOST = 32
# The kernel takes a run's mounts away a little after its last process: until then it uses them.
_REST = 0.5
_lock = allocate_lock()
_idle: list[tuple[float, Layer]] = []


def _in_a_child() -> None:
    """A forked child has none of our runs, and what its parent keeps is not its own."""
    global _lock  # noqa: PLW0603 — the parent's may be held for ever
    _lock = allocate_lock()
    _idle.clear()


os.register_at_fork(after_in_child=_in_a_child)


def open_layer(workspace: str, *, notes: tuple[str, ...] = ()) -> Layer:
    """An empty layer over the workspace: one that was put aside, or a new one."""
    base = store.base_of(workspace)
    layer = _taken(workspace, base)
    if layer is not None:
        with suppress(OSError):
            return _begun_anew(layer, (*base.notes, *notes))
    return store.open_layer(workspace, base, notes=notes)


def put_aside(layer: Layer) -> None:
    """Keeps a layer that holds no change, or removes it where something was written after all."""
    with suppress(OSError):  # whatever is left is found by who collects garbage
        with _lock:
            if layer.kind == OVERLAY and len(_idle) < _MOST and not os.listdir(layer.upper):
                record = store.record_of(layer.id)
                os.rename(record, record.removesuffix(".json") + _SUFFIX)
                _idle.append((time.monotonic(), layer))
                return
        store.remove_layer(layer)


def remove_spares() -> None:
    """Removes what this process put aside, and what a process that is gone did."""
    with _lock:
        while _idle:
            _remove(_idle.pop()[1])
    directory = os.path.dirname(store.record_of(""))
    for name in os.listdir(directory) if os.path.isdir(directory) else ():
        if name.endswith(_SUFFIX):
            layer = records.from_file(f"{directory}/{name}")
            if layer is not None and not store.maker_lives(layer):
                _remove(layer)


def _remove(layer: Layer) -> None:
    store.remove_layer(layer)
    with suppress(FileNotFoundError):
        os.unlink(store.record_of(layer.id).removesuffix(".json") + _SUFFIX)


def _taken(workspace: str, base: store.Base) -> Layer | None:
    now = time.monotonic()
    with _lock:
        for place, (since, layer) in enumerate(_idle):
            fits = layer.workspace == workspace and layer.directory.startswith(base.layers + "/")
            if fits and now - since > _REST:
                del _idle[place]
                return layer
    return None


def _begun_anew(old: Layer, notes: tuple[str, ...]) -> Layer:
    """The same directories under a new name: nobody takes one run's layer for another's."""
    name = short_id()
    directory = f"{os.path.dirname(old.directory)}/{name}"
    os.rename(old.directory, directory)
    new = replace(old, id=name, directory=directory, notes=notes)
    os.rename(store.record_of(old.id).removesuffix(".json") + _SUFFIX, store.record_of(name))
    new = store.recorded(new)
    store.take_after(new.upper, new.workspace, os.stat(new.workspace))
    return new
