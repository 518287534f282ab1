"""What every door that runs commands does alike: its sandbox, its signals, its input and output."""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.base import signals
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.cli.plain import Plain
    from redoma.cli.run_options import RunOptions
    from redoma.pipeline.host_services import Control
    from redoma.pipeline.sandbox import Sandbox

_TO_THE_COMMAND = (signals.SIGINT, signals.SIGTERM, signals.SIGHUP, signals.SIGQUIT)


def sandbox_for(options: RunOptions) -> Sandbox:
    """The sandbox that a command line describes."""
    from redoma.pipeline.sandbox import Sandbox
    from redoma.pipeline.wiring import Whoever, forget_questions

    if "--level" in options.one and "--profile" in options.one:
        raise UsageError("--level and --profile do not go together")
    forget_questions()
    profile = options.one.get("--profile", "")
    if profile and "/" not in profile:
        profile = f"./{profile}"
    return Sandbox(
        options.one.get("--workspace", "."),
        level=profile or options.one.get("--level", ""),
        engine=options.one.get("--engine", ""),
        limits=options.limits,
        allow_write=options.many["--allow-write"],
        allow_read=options.many["--allow-read"],
        allow_hosts=options.many["--allow-host"],
        publish=options.published(),
        inspect="inspect" in options.flags,
        cache_hosts=options.many["--cache-host"],
        credentials=options.many["--credential"],
        mock=options.one.get("--mock", "mock" in options.flags),
        env=options.environment(),
        direct="direct" in options.flags,
        no_undo="no-undo" in options.flags,
        ask=Whoever(options.one.get("--ask", "auto")),
        phase=options.one.get("--phase", ""),
        session=options.one.get("--session", ""),
    )


@contextmanager
def steered() -> Iterator[Control]:
    """A hand on what runs in the block: signals go to it, and afterwards to us again."""
    import signal

    from redoma.pipeline.host_services import Control

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


def own_input() -> int | bytes:
    """Our own standard input; nothing where reading it would stop a job in the background."""
    try:
        if os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp():
            return b""
        os.fstat(0)
    except OSError:
        return b""
    return 0


class Writer:
    """Writes what a command prints; `BrokenPipeError` where nobody takes it any more."""

    def __init__(self, onto: dict[int, int]) -> None:
        """`onto` says which of our descriptors each stream of the command goes to."""
        self._onto = onto
        self._filters: dict[int, Plain] = {}
        # Why it could not be written, where that is not a reader's own choice.
        self.trouble: OSError | None = None

    def made_plain(self) -> Writer:
        """The same; where a person reads it, nothing in it acts."""
        if any(os.isatty(own) for own in self._onto.values()):
            from redoma.cli.plain import Plain

            self._filters = {s: Plain() for s, own in self._onto.items() if os.isatty(own)}
        return self

    def __call__(self, stream: int, data: bytes) -> None:
        if stream in self._filters:
            data = self._filters[stream].filtered(data)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._onto[stream], view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            self.trouble = error
            raise BrokenPipeError(error.errno, error.strerror) from error


def writer(out: int = 1) -> Writer:
    """Writes what the command prints.

    `out` is where its standard output goes: to our standard error where ours is kept for data.
    """
    return Writer({1: out, 2: 2}).made_plain()


def raw_writer() -> Writer:
    """The same for a terminal's output, which a person's own terminal is to obey."""
    return Writer({1: 1, 2: 2})
