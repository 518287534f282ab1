"""How much one judgement may cost: a count of work, and the clocks of whoever asks for it.

Attack: an agent waits for its hook for a minute at most, and then goes on without it. So a text
that takes long to judge is a text that is not judged. Everything that loops over what a caller
wrote pays for it here; where nothing is left to pay with, the judgement ends with `Exhausted` and
the text is refused as too complicated. Work is counted, so that the same text gets the same answer
everywhere; the clocks are for what counting got wrong. The caller gives them: the judge has none.
"""

from __future__ import annotations

from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    # Seconds that count against a judgement so far; what it may take at most.
    Clock: TypeAlias = tuple[Callable[[], float], float]

MOST_WORK = 4_000_000
"""Some tenths of a microsecond each; the costliest of 35 000 real commands takes a twentieth."""
BETWEEN_LOOKS = 4096


class Exhausted(Exception):
    """The judgement has cost all that it may; the text is refused as too complicated."""


class Budget:
    """What one judgement may still cost."""

    __slots__ = ("_clocks", "_ends", "_left", "_next_look", "exhausted")

    def __init__(self, *clocks: Clock, work: int = MOST_WORK) -> None:
        self._clocks = [now for now, _ in clocks]
        self._ends = [now() + most for now, most in clocks]
        self._left = work
        self._next_look = work - BETWEEN_LOOKS
        self.exhausted = False
        """Stays true, so that nothing that catches every exception can lose it."""

    @property
    def left(self) -> int:
        """The work that may still be done."""
        return self._left

    def spend(self, work: int) -> None:
        """Pays for work; `Exhausted` where there is too little left, or too much time is gone."""
        self._left -= work
        if self._left < self._next_look:
            self.look()

    def look(self) -> None:
        """Looks at what is left and at the clocks."""
        self._next_look = self._left - BETWEEN_LOOKS
        if self.exhausted or self._left < 0 or self._late():
            self.exhausted = True
            raise Exhausted

    def _late(self) -> bool:
        return any(now() > end for now, end in zip(self._clocks, self._ends, strict=True))

    def times(self) -> list[float]:
        """What the clocks say."""
        return [now() for now in self._clocks]

    def give_back(self, since: list[float]) -> None:
        """Takes the time since then for none at all."""
        for index, (before, now) in enumerate(zip(since, self.times(), strict=True)):
            self._ends[index] += now - before


class _OfThisThread(_local):
    """The budget of the judgement that goes on in this thread."""

    current: Budget | None = None


_here = _OfThisThread()


def spend(work: int) -> None:
    """Pays for work of the judgement that goes on in this thread; outside of one it is free."""
    budget = _here.current
    if budget is not None:
        budget.spend(work)


def current() -> Budget | None:
    """The budget that counts in this thread."""
    return _here.current


class Judging:
    """A judgement on a budget: `with Judging(budget):`. One inside of another shares its budget."""

    __slots__ = ("_before", "budget")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def __enter__(self) -> Budget:
        self._before = _here.current
        if self._before is not None:
            self.budget = self._before
        _here.current = self.budget
        return self.budget

    def __exit__(self, *_: object) -> None:
        _here.current = self._before


class Uncounted:
    """Work that is done once for all judgements, such as loading a module, and costs none time."""

    __slots__ = ("_budget", "_since")

    def __enter__(self) -> None:
        self._budget = _here.current
        self._since = self._budget.times() if self._budget is not None else []

    def __exit__(self, *_: object) -> None:
        if self._budget is not None:
            self._budget.give_back(self._since)
