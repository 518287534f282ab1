"""Finds out after a run whether a file met the limit of its size.

The kernel tells nobody but the process itself, by a signal that it may ignore, and by an error. But
what is cut has exactly the size of the limit: so the files that were written are looked at.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from redoma.model.change import FileKind
from redoma.model.grant import Writes
from redoma.model.result import Outcome
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.model.change import Changes
    from redoma.model.grant import Grant, Limits
    from redoma.model.result import Exit

_REALTIME_COARSE = 5
_LONGEST = 2.0
_LONGEST_BEFORE = 0.25
_MORE = 4096
NOT_SEEN = "the workspace is too large to see whether a file in it met the limit of its size"


def clock() -> int:
    """Now, as the kernel writes it into files."""
    return time.clock_gettime_ns(_REALTIME_COARSE)


def seen(ended: Exit, grant: Grant, changes: Changes | None, began: int) -> Exit:
    """The end of a run, with `file_size` among its limits where a file that it wrote met that.

    `began` is what the clock of files showed before.
    """
    limit = grant.limits.file_size
    if limit is None or "file_size" in ended.limits_reached:
        return ended
    notes = ended.notes
    met = changes is not None and _in_overlay(changes, limit)
    if not met:
        direct = (grant.workspace,) if grant.writes is Writes.DIRECT else ()
        try:
            met = any(_below(place, limit, began) for place in (*direct, *grant.writable))
        except TimeoutError:
            notes = (*notes, NOT_SEEN)
    if not met:
        return ended if notes == ended.notes else replace(ended, notes=notes)
    by_itself = ended.outcome in (Outcome.EXITED, Outcome.SIGNALLED)
    return replace(
        ended,
        outcome=Outcome.DISK_FULL if by_itself else ended.outcome,
        limits_reached=(*ended.limits_reached, "file_size"),
        notes=notes,
    )


def with_existing(limits: Limits, grant: Grant) -> Limits:
    """The limits that the kernel is given: what is there already can be touched.

    An overlay copies a file before its first change, and the kernel holds that copy to the size
    that its writer may write. So nobody is held below the largest file there is; whether one grew
    past the limit is seen afterwards.
    """
    if limits.file_size is None or grant.writes not in (Writes.LAYER, Writes.MEMORY):
        return limits
    try:
        largest = max(_sizes(grant.workspace, _LONGEST_BEFORE), default=0)
    except TimeoutError:
        return replace(limits, file_size=None)
    if largest < limits.file_size:
        return limits
    # A little more: what is added to that file is then seen by its size.
    return replace(limits, file_size=largest + _MORE)


def _in_overlay(changes: Changes, limit: int) -> bool:
    for item in changes.items:
        after, before = item.after, item.before
        if after is None or after.kind is not FileKind.FILE or after.size < limit:
            continue
        # What was as large before, and was only touched, met nothing.
        if before is None or after.size == limit or after.size > before.size:
            return True
    return False


def _below(place: str, limit: int, began: int) -> bool:
    """Whether a file below a directory has that size and was written since the run began."""
    return any(size >= limit for size in _sizes(place, _LONGEST, began))


def _sizes(place: str, longest: float, began: int = 0) -> Iterator[int]:
    """The sizes of all files below a directory that changed after `began`."""
    until = time.monotonic() + longest
    pending = [place]
    while pending:
        if time.monotonic() > until:
            raise TimeoutError
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    # A file without blocks, such as kcore of a /proc below a home, is no one's.
                    if found.st_ctime_ns > began and (found.st_blocks or not found.st_size):
                        yield found.st_size
