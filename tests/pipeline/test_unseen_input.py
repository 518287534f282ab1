"""What is piped in is part of what runs: an approval of it is for this input and no other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator

import pytest

from redoma import AsyncSandbox, Sandbox
from redoma.model.request import Question
from redoma.model.result import Outcome, Result
from tests.pipeline.place import Place

COMMAND = "chmod -R 777 ."


@pytest.fixture
def piped() -> Iterator[int]:
    """Input that nobody here has seen."""
    reads, writes = os.pipe()
    os.close(writes)
    yield reads
    os.close(reads)


def plainly(place: Place, stdin: int | bytes, ask: Callable[[Question], bool]) -> Result:
    made = Sandbox(str(place.workspace), audit=str(place.record), ask=ask)
    return made.run(COMMAND, stdin=stdin)


def awaited(place: Place, stdin: int | bytes, ask: Callable[[Question], bool]) -> Result:
    made = AsyncSandbox(str(place.workspace), audit=str(place.record), ask=ask)
    return asyncio.run(made.run(COMMAND, stdin=stdin))


@pytest.mark.parametrize("run", [plainly, awaited])
def test_an_approval_of_unseen_input_is_good_for_nothing_else(
    place: Place, piped: int, run: Callable[..., Result]
) -> None:
    asked: list[Question] = []

    def no(question: Question) -> bool:
        asked.append(question)
        return False

    for stdin in (b"", piped, piped):
        assert run(place, stdin, no).outcome is Outcome.DECLINED
    seen, *unseen = asked
    assert (":" in seen.digest, seen.argvs) == (False, (("chmod", "-R", "777", "."),))
    assert [(":" in each.digest, each.argvs) for each in unseen] == [(True, ())] * 2
    assert len({each.digest for each in asked}) == 3
