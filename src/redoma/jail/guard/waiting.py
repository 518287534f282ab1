"""Ends enclosures that stand ready for a command and wait for a supervisor that was killed.

Bubblewrap's first process is told when to begin, and dies with whoever started it only from then
on. Killed before, we can tell it nothing: it never begins, but it stays. Its command line names
us, so that the next start knows whose it is and that nobody will come any more.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base import signals
from redoma.jail.guard.journal import MARK, namespace
from redoma.jail.kernel.cgroups import maker_lives
from redoma.model.access import NOBODYS_UID


def end_left_behind() -> None:
    """Ends every process that waits for a supervisor of this machine which is gone."""
    for name in os.listdir("/proc"):
        if name.isdigit() and _is_left_behind(name):
            with suppress(OSError):
                process = os.pidfd_open(int(name))
                try:
                    # Attack: the number is another's by now; so the process that is held is looked
                    # at once more, and it alone is signalled.
                    if _is_left_behind(name):
                        signals.send(process, signals.SIGKILL)
                finally:
                    os.close(process)


def _is_left_behind(name: str) -> bool:
    try:
        with open(f"/proc/{name}/cmdline", "rb") as file:
            words = file.read(4096).decode(errors="replace").split("\0")
        told = next((word for word in words if word.startswith(MARK)), "")
        if not told:
            return False
        with open(f"/proc/{name}/status") as file:
            uid = next(line.split()[1] for line in file if line.startswith("Uid:"))
    except (OSError, StopIteration):
        return False
    where, _, maker = told.removeprefix(MARK).partition("-")
    # In another namespace of processes our numbers name others: what waits there is left alone.
    ours = where == namespace() and int(uid) in (os.geteuid(), NOBODYS_UID)
    return ours and not maker_lives(maker)
