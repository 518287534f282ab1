"""Keeps the memory of this process out of core dumps, from the moment it has a secret in it."""

from __future__ import annotations

import resource


def none_from_now_on() -> None:
    """No core dump of this process, neither as a file nor for a handler of the machine's.

    The limit is 1 and not 0: under 0 a kernel that pipes core dumps to a program starts it all the
    same, under 1 it does not. The hard limit stays, so whoever embeds us can set it back.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if soft != 1 and hard != 0:
        resource.setrlimit(resource.RLIMIT_CORE, (1, hard))
