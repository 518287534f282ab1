"""Names the process that starts a run, so that a later one can tell whether it is gone."""

from __future__ import annotations

import os

from redoma.audit import clock
from redoma.base.process_identity import start_time

_own: dict[int, str] = {}


def own() -> str:
    """This process: boot, process namespace, pid, and when it started in the kernel's count."""
    pid = os.getpid()
    if pid not in _own:
        _own.clear()
        _own[pid] = f"{clock.boot()} {_namespace()} {pid} {start_time(pid)}"
    return _own[pid]


def gone(maker: str, age: int) -> bool:
    """Whether a run's maker has ended; `age` is the run's, in microseconds.

    A process of another namespace (a container that shares the state directory) cannot be seen
    from here: its runs are left alone for a day.
    """
    boot, namespace, pid, started = [*maker.split(" "), "", "", "", ""][:4]
    if boot != clock.boot():
        return True
    if namespace != _namespace():
        return age > clock.DAY
    return not pid.isdigit() or start_time(int(pid)) != started


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "-"
