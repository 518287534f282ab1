"""Signals by number: the module `signal` builds tables that a cold start does not need."""

from __future__ import annotations

# The core of `signal`, whose functions take and give plain numbers.
import _signal as core  # type: ignore[import-not-found]

SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM = 1, 2, 3, 9, 15
SIGCHLD: int = core.SIGCHLD
SIGXCPU: int = core.SIGXCPU
SIGXFSZ: int = core.SIGXFSZ
SIGWINCH: int = core.SIGWINCH
LAST = 64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def send(process: int, number: int) -> None:
    """Signals the process behind a pidfd, and never one that got its number later."""
    core.pidfd_send_signal(process, number)


def ignored(number: int) -> bool:
    """Whether our own parent had this signal ignored."""
    return bool(core.getsignal(number) == core.SIG_IGN)


def handle(number: int, handler: Callable[[int, object], None]) -> None:
    """Calls `handler` when the signal comes."""
    core.signal(number, handler)
