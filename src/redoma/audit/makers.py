"""Names the process that starts a run, so that a later one can tell whether it is gone."""

from __future__ import annotations

import os

from redoma.audit import clock

_own: dict[int, str] = {}


def own() -> str:
    """This process: boot, process namespace, pid, and when it started in the kernel's count."""
    pid = os.getpid()
    if pid not in _own:
        _own.clear()
        _own[pid] = f"{clock.boot()} {_namespace()} {pid} {_started(pid)}"
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
    return not pid.isdigit() or _started(int(pid)) != started


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "-"


def _started(pid: int) -> str:
    """The start time of a process; nothing where it is gone or only its exit status is left."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return ""
    fields = text[text.rfind(")") + 2 :].split()
    return "" if fields[0] in "ZX" else fields[19]
