"""A person's own terminal, given to a command for a while."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.pipeline.host_services import Control


@contextmanager
def attached(control: Control) -> Iterator[None]:
    """Raw mode, and every change of the window's size passed on, until the block ends."""
    from redoma.pipeline.host_services import raw, size_of

    if not os.isatty(0):
        if not os.isatty(1):
            control.resize(24, 80)
        yield
        return
    if os.tcgetpgrp(0) != os.getpgrp():
        raise UsageError("--tty needs the foreground of a terminal")

    def resize(*_: object) -> None:
        control.resize(*size_of(0))

    resize()
    signal.signal(signal.SIGWINCH, resize)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: control.cancel())
    with raw(0):
        yield
