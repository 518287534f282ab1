"""Signals while something is at work: they go to the command that runs, or stop what we do."""

from __future__ import annotations

from contextlib import contextmanager

from redoma.base import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.pipeline.this_host import Control

_TO_THE_COMMAND = (signals.SIGINT, signals.SIGTERM, signals.SIGHUP, signals.SIGQUIT)


@contextmanager
def steered() -> Iterator[Control]:
    """A hand on what runs in the block: signals go to it, and afterwards to us again."""
    import signal

    from redoma.pipeline.this_host import Control

    control = Control()
    before = {number: signal.getsignal(number) for number in _TO_THE_COMMAND}
    pass_signals_on(control)
    try:
        yield control
    finally:
        control.close()
        # From here on Ctrl-C is meant for the showing: there is no command any more to get it.
        for number, handler in before.items():
            signal.signal(number, handler)


def pass_signals_on(control: Control) -> None:
    """Ctrl-C and friends go to the command; the second time they end it."""
    seen: list[int] = []

    def handler(number: int, _frame: object) -> None:
        if control.over:
            raise signals.Stopped(number)
        seen.append(number)
        if len(seen) > 1:
            control.cancel()
        else:
            control.signal(number)

    for number in _TO_THE_COMMAND:
        if not signals.ignored(number):
            signals.handle(number, handler)
    if signals.ignored(signals.SIGCHLD):
        # Whoever started us ignored it; so nobody would be told how the command ended.
        signals.handle(signals.SIGCHLD, lambda _number, _frame: None)


def stop_on_signals() -> None:
    """What would end us stops us instead, so that it can be told what became of the work."""

    def handler(number: int, _frame: object) -> None:
        raise signals.Stopped(number)

    for number in _TO_THE_COMMAND:
        if not signals.ignored(number):
            signals.handle(number, handler)
