"""What was seen at the end of a run is one outcome, also where little was seen."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any

import pytest

from redoma.jail.supervisor.limiter import Limiter
from redoma.jail.supervisor.outcome import RunEnd
from redoma.model.errors import EngineFailed
from redoma.model.grant import Handshake, Launch, Limits
from redoma.model.result import Outcome


class Group(Limiter):
    """The limits of a run whose control group says that it met these."""

    def __init__(self, *met: str) -> None:
        super().__init__(Limits(memory=1 << 20), None, frozenset())
        self._met = list(met)

    def reached(self) -> list[str]:
        return self._met


def ended(met: str, said: bytes = b"") -> Any:
    """A run whose launcher reported no status of its command."""
    launch = Launch(argv=("bwrap",), env={}, fds=[], handshake=Handshake(status=-1, go=-1),
                    complaint="bwrap: ")  # fmt: skip
    output = SimpleNamespace(
        number=2, data=said, truncated=False, total=len(said), unread=False, limited=False
    )
    return SimpleNamespace(
        launch=launch,
        limiter=Group(*met.split()),
        outputs=[output],
        watch=None,
        trace=None,
        gate=None,
        outlet=None,
        temporary=[],
        directory="/",
        began=time.monotonic(),
    )


def reaped(status: int) -> RunEnd:
    ending = RunEnd()
    child = os.posix_spawn("/bin/sh", ["sh", "-c", f"exit {status}"], {})
    ending.reaped(*os.wait4(child, 0)[1:])
    return ending


def test_where_memory_ran_out_the_sandboxs_first_process_may_be_the_one_to_go() -> None:
    exit = reaped(1).exit(ended("memory"), b'{ "child-pid": 7 }\n')
    assert (exit.outcome, exit.signal, exit.limits_reached) == (
        Outcome.OUT_OF_MEMORY,
        9,
        ("memory",),
    )


def test_a_launcher_that_ends_without_a_word_on_the_command_has_failed() -> None:
    with pytest.raises(EngineFailed, match="no such device"):
        reaped(1).exit(ended("", b"bwrap: no such device"), b'{ "child-pid": 7 }\n')


def test_the_commands_own_status_stands_where_it_is_reported() -> None:
    exit = reaped(3).exit(ended(""), b'{ "child-pid": 7 }\n{ "exit-code": 3 }\n')
    assert (exit.outcome, exit.code) == (Outcome.EXITED, 3)
