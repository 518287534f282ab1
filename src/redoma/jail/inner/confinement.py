"""Landlock and a filter of system calls, put on the calling process for good."""

from __future__ import annotations

from redoma.jail.kernel import calls, landlock, seccomp
from redoma.model.access import Syscalls

_SECCOMP_MODE_FILTER = 2
_LIST = "\x1f"


def confine(ordered: dict[str, str]) -> None:
    """What the orders say; an error leaves the caller free to refuse."""
    calls.prctl(calls.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(
        readable=[path for path in ordered["readable"].split(_LIST) if path],
        writable=[path for path in ordered["writable"].split(_LIST) if path],
        network=ordered.get("network") == "open",
    )
    closed = ordered.get("network") != "open"
    program = seccomp.assemble(
        Syscalls(ordered.get("syscalls", "usual")),
        sockets=seccomp.Sockets.LOCAL_ONLY if closed else seccomp.Sockets.USUAL,
        refuse_preallocation=True,
        landlock_only=True,
    )
    landlock.load_filter(program)


def joined(paths: list[str]) -> str:
    """Paths as one word of an order."""
    return _LIST.join(paths)
