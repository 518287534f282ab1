"""Hands signals on to a command, once there is one."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from redoma.base import signals
from redoma.jail.kernel.process import process_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.supervisor.run import Supervisor

_PATIENCE = 2.0


def deliver(run: Supervisor) -> None:
    """Gives the command every signal that was meant for it.

    The sandbox's first process starts the command, and ignores signals itself: what comes before
    the command is there would be lost, so it waits.
    """
    while run.control.signals and _has_command(run):
        _deliver(run, run.control.signals.pop(0))


def _has_command(run: Supervisor) -> bool:
    if not (run.launch.own_process_namespace and run.first):
        return True
    return len(process_tree(run.first)) > 1 or time.monotonic() - run.began > _PATIENCE


def _deliver(run: Supervisor, number: int) -> None:
    run.ending.handed_on.add(number)
    with suppress(OSError):
        if not (run.launch.own_process_namespace and run.first):
            os.kill(run.pid, number)  # the launcher there passes it on itself
            return
        group = os.getpgid(run.first)
        # The first process ignores what it can; killed, it could not say how the command ended.
        together = number != signals.SIGKILL and group != os.getpgrp()
        if together:
            os.killpg(group, number)
        # A shell with a terminal gives each job a group of its own; and before the sandbox
        # has made its session, its group is ours.
        for pid in process_tree(run.first)[1:]:
            if not together or os.getpgid(pid) != group:
                os.kill(pid, number)
