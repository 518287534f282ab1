"""How much memory the processes of a tree have together, what they share counted once.

A size has every page that a process can see: eight workers that share an array of their parent
seem to have it eight times. The kernel knows better (`Pss` in smaps_rollup), by walking all their
pages: it is asked only where what can have come since the last answer could pass the limit.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PAGE = os.sysconf("SC_PAGE_SIZE")
# Above this many it would be asked for longer than a look may take; then sizes are added up.
_MOST_ASKED = 512


class TreeMemory:
    """Sizes and page faults at each look, and what the kernel said when it was last asked."""

    def __init__(self) -> None:
        self._pids: list[int] = []
        self._running: list[int] = []
        self._pages = self._faults = 0
        # What was really there, and the pages and faults that there had been by then.
        self._known: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """A new look begins."""
        self._pids, self._running, self._pages, self._faults = [], [], 0, 0

    def add(self, pid: int, *, state: str, pages: int, faults: int) -> None:
        """One process, parents first: its size in pages, and how often it got a page so far."""
        # The first one is the enclosure's own; who was stopped by another stays so.
        if self._pids and state not in "TtZX":
            self._running.append(pid)
        self._pids.append(pid)
        self._pages += pages
        self._faults += faults

    def bytes(self, limit: int) -> int:
        """What they have together; exact where it matters for `limit`, else never too little."""
        sizes = self._pages * _PAGE
        if sizes <= limit:
            self._known = None
            return sizes
        if self._known is not None:
            known, pages, faults = self._known
            # A page that is written while shared is copied: the sizes stay, and a fault is counted.
            more = max(0, self._pages - pages) + max(0, self._faults - faults)
            if self._faults >= faults and known + more * _PAGE <= limit:
                return known + more * _PAGE
        if len(self._pids) > _MOST_ASKED:
            return sizes
        # Attack: while all their pages are walked, they take the rest and are gone. So they stand
        # still for these milliseconds; parents stop first and go on last, so that none sees it.
        known = self.standing_still(lambda: sum(map(_share, self._pids)), limit)
        self._known = (known, self._pages, self._faults)
        return known

    def standing_still(self, count: Callable[[], int], limit: int) -> int:
        """What `count` finds while nobody moves; above the limit they stay so until they end."""
        running = [pid for pid in self._running if _signalled(pid, signals.SIGSTOP)]
        found = 0
        try:
            found = count()
        finally:
            for pid in reversed(running if found <= limit else []):
                _signalled(pid, signals.SIGCONT)
        return found


def _signalled(pid: int, number: int) -> bool:
    with suppress(OSError):
        os.kill(pid, number)
        return True
    return False


def _share(pid: int) -> int:
    """A process's share of what it sees, without pages of files, which the kernel can let go."""
    with suppress(OSError, ValueError):
        with open(f"/proc/{pid}/smaps_rollup") as file:
            rows = {row[0]: int(row[1]) << 10 for row in map(str.split, file) if row[-1] == "kB"}
        return rows["Pss:"] - rows.get("Pss_File:", 0) + rows.get("SwapPss:", 0)
    # It lets nobody look: then all that it sees is its own.
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * _PAGE
    return 0
