"""A process asks at its own terminal, and never where nobody can be sitting."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import redoma

SCRIPT = f"""
import sys
sys.path[:0] = [{str(Path(redoma.__file__).parent.parent)!r}, {str(Path(__file__).parents[3])!r}]
from redoma.ask.terminal import TerminalAnswerer
from tests.unit.ask.asked import FORCE_PUSH
print("started", flush=True)
answer = TerminalAnswerer().ask(FORCE_PUSH)
print("answer:", answer and (answer.choice.value, answer.notes), flush=True)
"""


class Sitting:
    """A process on a terminal of its own, as a person's shell starts it."""

    def __init__(self, *, term: str, stdin: int | None = None, before: str = "") -> None:
        self.ours, theirs = pty.openpty()

        def on_it() -> None:
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [sys.executable, "-c", before + SCRIPT],
            env={"TERM": term, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            stdin=theirs if stdin is None else stdin,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=on_it,  # noqa: PLW1509 — no thread of ours holds a lock here
        )
        os.close(theirs)
        self.shown = b""

    def sees(self, words: str, seconds: float = 20.0) -> None:
        until = time.monotonic() + seconds
        while words.encode() not in self.shown:
            if select.select([self.ours], [], [], 0.1)[0]:
                self.shown += os.read(self.ours, 65536)
            assert time.monotonic() < until, f"{words!r} is not in {self.shown.decode()}"

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)


def test_a_person_answers_at_the_processs_own_terminal() -> None:
    sitting = Sitting(term="xterm")
    try:
        sitting.sees(" s: ")
        os.write(sitting.ours, b"p")
        sitting.sees("answer: ('dry_run', '')")
    finally:
        sitting.close()


def test_an_interrupt_is_a_no_by_key_and_by_signal() -> None:
    for term, how in (("xterm", "key"), ("dumb", "key"), ("xterm", "signal"), ("dumb", "signal")):
        sitting = Sitting(term=term)
        try:
            sitting.sees(" s: ")
            if how == "key":
                os.write(sitting.ours, b"\x03")
            else:
                os.kill(sitting.process.pid, signal.SIGINT)
            sitting.sees("answer: ('deny', 'interrupted')")
        finally:
            sitting.close()


def test_nobody_is_asked_where_standard_input_is_no_terminal() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    sitting = Sitting(term="xterm", stdin=nothing)
    try:
        sitting.sees("answer: None")
        assert b"may this run" not in sitting.shown
    finally:
        os.close(nothing)
        sitting.close()


def test_nobody_is_asked_by_a_process_in_the_background() -> None:
    # The process leaves the foreground to another group, as a shell does with `command &`.
    before = """
import os, signal
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.pause()
import time
while os.tcgetpgrp(0) == os.getpgrp():
    time.sleep(0.01)
"""
    sitting = Sitting(term="xterm", before=before)
    try:
        sitting.sees("answer: None")
        assert b"may this run" not in sitting.shown
    finally:
        sitting.close()
