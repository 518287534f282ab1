"""A process that kills itself, without a word, at the nth thing it does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType


def events_of(work: Callable[[], object]) -> int:
    """How many calls and returns a piece of work is made of, counted in a process of its own."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        count = 0

        def note(frame: FrameType, event: str, argument: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        work()
        sys.setprofile(None)
        os.write(writing, str(count).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        told = answer.read()
    assert os.waitpid(pid, 0)[1] == 0
    return int(told)


def killed_at(point: int, work: Callable[[], object]) -> bool:
    """Whether a process that did this work was killed at that point; False where it came through.

    Between any two calls to the kernel there is a call or a return of the interpreter, so every
    state that a kill can leave behind is among the points.
    """
    pid = os.fork()
    if pid == 0:
        left = point

        def count_down(frame: FrameType, event: str, argument: object) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count_down)
        work()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False
