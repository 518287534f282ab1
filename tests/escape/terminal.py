"""A terminal of the caller's, and what a program typed into it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
import tty
from collections.abc import Sequence
from typing import NamedTuple


class Typed(NamedTuple):
    """What a program showed on a terminal, and what it put into the terminal's input."""

    shown: bytes
    injected: bytes


def on_a_terminal(
    argv: Sequence[str], env: dict[str, str], cwd: str, *, timeout: float = 30
) -> Typed:
    """Runs a program as a person's shell does: on the session's own terminal.

    Whatever it types into that terminal would be read by the shell after it has ended.
    """
    ours, theirs = pty.openpty()
    tty.setraw(theirs)

    def on_it() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        list(argv),
        env=env,
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=on_it,  # noqa: PLW1509 — no thread of ours holds a lock here
    )
    shown = b""
    until = time.monotonic() + timeout
    try:
        while process.poll() is None and time.monotonic() < until:
            if select.select([ours], [], [], 0.05)[0]:
                shown += os.read(ours, 65536)
        while select.select([ours], [], [], 0.05)[0]:
            shown += os.read(ours, 65536)
        os.set_blocking(theirs, False)
        try:
            injected = os.read(theirs, 4096)
        except BlockingIOError:
            injected = b""
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
        os.close(theirs)
    return Typed(shown, injected)
