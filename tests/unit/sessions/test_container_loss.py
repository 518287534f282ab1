"""Only a container that was lost is started again: never a shell that was left, or that ran elsewhere."""

from __future__ import annotations

import pytest

from redoma.base.output_filter import OutputFilter
from redoma.model.errors import EngineFailed, RunError
from redoma.model.grant import Enforcement
from redoma.model.result import Exit, Outcome, Result
from redoma.sessions.container_loss import line, loss


def ended(outcome: Outcome, engine: str = "container", **more: int) -> Result:
    held = Enforcement(engine=engine, required=frozenset(), held=frozenset())
    return Result(outcome=outcome, exit=Exit(outcome=outcome, **more), enforcement=held)


@pytest.mark.parametrize(
    ("engine", "end", "lost"),
    [
        ("container", ended(Outcome.SIGNALLED, signal=9), True),
        ("", ended(Outcome.SIGNALLED, signal=9), True),  # the policy chose the engine
        ("container", ended(Outcome.OUT_OF_MEMORY, signal=9), True),
        ("container", EngineFailed("gone"), True),
        ("container", ended(Outcome.EXITED, code=0), False),
        ("container", ended(Outcome.EXITED, code=3), False),
        ("container", ended(Outcome.SIGNALLED, signal=1), False),
        ("container", ended(Outcome.CANCELLED, signal=9), False),
        ("container", Result(outcome=Outcome.DENIED), False),
        ("bubblewrap", ended(Outcome.SIGNALLED, "bubblewrap", signal=9), False),
        ("bubblewrap", EngineFailed("gone"), False),
        ("container", RunError("another fault"), False),
    ],
)
def test_what_counts_as_lost(engine: str, end: Result | Exception, lost: bool) -> None:
    assert bool(loss(engine, end)) is lost


def test_what_is_said_of_it_passes_as_output_that_only_draws() -> None:
    said = line("it was ended by SIGKILL")
    assert OutputFilter().feed(said).shown == said
