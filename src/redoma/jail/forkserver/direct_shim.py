"""Limits itself, starts the command, and outlives none of what the command started.

It stands between the supervisor and the command where an engine has no process that could do this,
and takes its orders from the command line, one word each.
"""

from __future__ import annotations

import os
import signal
import sys

from redoma.jail.forkserver import first_process
from redoma.jail.kernel import syscalls
from redoma.jail.kernel.process import limit_this_process
from redoma.model.message import Message

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)
COULD_NOT_CONFINE = 125


def main(arguments: list[str]) -> None:
    """Never returns: ends with the command's own status."""
    cut = arguments.index("--")
    orders, command = arguments[:cut], arguments[cut + 1 :]
    ordered = dict(order.partition("=")[::2] for order in orders)
    # Attack: a command that leaves its session and its parents would go on after the run; with
    # this every orphan becomes our child.
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    child = os.fork()
    if child == 0:
        try:
            _become(ordered, command)
        except OSError as error:
            sys.stderr.write(
                Message("redoma: could not confine the command: {error}\n", error=error)
            )
        os._exit(COULD_NOT_CONFINE)
    for number in _SIGNALS:
        signal.signal(number, lambda given, _: os.kill(child, given))
    status = _wait(child)
    _end_all_children()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def _become(ordered: dict[str, str], command: list[str]) -> None:
    if not ordered.get("terminal"):
        os.setsid()
    os.chdir(ordered["cwd"])
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    limit_this_process(ordered.get("limits", ""))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("REDOMA_SHIM_")
    }
    first_process.become(command, environment)


def _wait(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return status


def _end_all_children() -> None:
    """Kills and collects until nothing is left; each orphan comes to us in its turn."""
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                children = [int(pid) for pid in file.read().split()]
        except OSError:
            children = []
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
