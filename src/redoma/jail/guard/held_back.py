"""Where what was taken away is kept: a place that is never full, and never fills the disk."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import count

from redoma.jail import places
from redoma.jail.guard import removal

# What older runs left goes, the oldest first, until no more than this is kept.
MOST_RUNS = 100
MOST_BYTES = 1 << 30

_numbers = count(1)


def place(name: str = "") -> str:
    """A directory of its own for what one run made and may not keep; room is made for it."""
    kept = f"{places.made_state()}/held-back"
    trim(kept, runs=MOST_RUNS - 1, size=MOST_BYTES)
    moment = time.strftime("%Y%m%d-%H%M%S")
    return f"{kept}/{moment}-{os.getpid()}-{next(_numbers)}{name}"


def trim(directory: str, *, runs: int, size: int) -> None:
    """Removes what is oldest in `directory` until so many are left, and so many bytes.

    Attack: each run may leave as much here as it may write, and nobody looks for it.
    """
    found: list[tuple[int, str]] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    used = 0
    for number, (_, path) in enumerate(sorted(found, reverse=True), 1):
        used += removal.size(path)
        if number > runs or used > size:
            with suppress(OSError):  # what cannot be removed now is tried again next time
                removal.remove(path)
