"""The machine that this process runs on: probed once, and kept ready for every sandbox in it."""

from __future__ import annotations

import atexit
import os
from _thread import allocate_lock

from redoma.jail.kernel.process import standing
from redoma.jail.supervisor.host import Host

_lock = allocate_lock()
_hosts: dict[tuple[object, ...], Host] = {}


def _in_a_child() -> None:
    """A child has none of our threads, and none of what its parent keeps ready is its own."""
    global _lock  # noqa: PLW0603 — the parent's may be held for ever
    _lock = allocate_lock()
    _hosts.clear()


os.register_at_fork(after_in_child=_in_a_child)


def this_host() -> Host:
    """The host of this process; what it keeps ready is removed when the process ends.

    Attack: a program gives up rights, or enters another root or network. What was kept ready
    before never did, and whatever it starts would have what the program gave up.
    """
    now = standing()
    with _lock:
        if now not in _hosts:
            from redoma.jail.overlay.locks import recover
            from redoma.jail.protect.run_journal import finish_others

            finish_others()
            recover()
            _hosts[now] = Host()
            atexit.register(_hosts[now].close)
        return _hosts[now]
