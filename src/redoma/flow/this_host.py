"""The machine that this process runs on: probed once, and kept ready for every sandbox in it."""

from __future__ import annotations

import atexit
import os
from _thread import allocate_lock

from redoma.jail.probe.host import Host

_lock = allocate_lock()
_hosts: list[Host] = []


# A forked child has none of our threads, and none of what its parent keeps ready is its own.
os.register_at_fork(after_in_child=_hosts.clear)


def this_host() -> Host:
    """The one host of this process; what it keeps ready is removed when the process ends."""
    with _lock:
        if not _hosts:
            from redoma.jail.guard.journal import finish_others
            from redoma.jail.overlay.recovery import recover

            finish_others()
            recover()
            _hosts.append(Host())
            atexit.register(_hosts[0].close)
        return _hosts[0]
