"""Signals by number: the module `signal` builds tables that a cold start does not need."""

from __future__ import annotations

# The core of `signal`, whose functions take and give plain numbers.
import _signal as core  # type: ignore[import-not-found]

SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM = 1, 2, 3, 9, 15
SIGCHLD: int = core.SIGCHLD
SIGSTOP: int = core.SIGSTOP
SIGCONT: int = core.SIGCONT
SIGXCPU: int = core.SIGXCPU
SIGXFSZ: int = core.SIGXFSZ
SIGWINCH: int = core.SIGWINCH
LAST = 64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Handler: TypeAlias = Callable[[int, object], None]


class Stopped(KeyboardInterrupt):
    """A signal asked us to stop, and nothing was in the middle; its words say what became of it."""

    def __init__(self, number: int = SIGINT) -> None:
        super().__init__()
        self.number = number


def handlers(*numbers: int) -> dict[int, Handler]:
    """What this program does of its own when one of these signals comes."""
    found = {number: core.getsignal(number) for number in numbers}
    return {number: handler for number, handler in found.items() if callable(handler)}


def send(process: int, number: int) -> None:
    """Signals the process behind a pidfd, and never one that got its number later."""
    core.pidfd_send_signal(process, number)


def ignored(number: int) -> bool:
    """Whether our own parent had this signal ignored."""
    return bool(core.getsignal(number) == core.SIG_IGN)


def handle(number: int, handler: Handler) -> None:
    """Calls `handler` when the signal comes."""
    core.signal(number, handler)
