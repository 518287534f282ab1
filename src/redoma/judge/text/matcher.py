"""Finds where an expression fits in a text, at a cost that no text can stretch.

Attack: `a*a*a*b` against a row of `a`: whoever tries one way after the other tries them all. Here
no way is tried. The places in a text are the bits of a number; a step of an expression takes the
set of places where it may begin to the set of places where it may end, by a few operations on such
numbers. Expressions nest as tuples and lists of steps:

    (CHARS, fits)          one character that `fits`
    (ANY,)                 one character
    (MANY, fits)           any number of characters that all fit; `(MANY, None)` for any at all
    (EITHER, [steps, …])   one of several
    (REPEAT, least, most, steps)
    (NOT, [steps, …])      anything that none of these fits as a whole
    (AT, places)           nothing, at the places that `places(text)` names
    (AHEAD, steps) (NOT_AHEAD, steps) (BEHIND, steps) (NOT_BEHIND, steps)
"""

from __future__ import annotations

from redoma.judge.text.budget import spend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    Fits: TypeAlias = Callable[[str], bool]
    Step: TypeAlias = tuple[Any, ...]
    Steps: TypeAlias = Sequence[Step]

CHARS, ANY, MANY, EITHER, REPEAT, NOT, AT = range(7)
AHEAD, NOT_AHEAD, BEHIND, NOT_BEHIND = range(7, 11)


class Places:
    """A text whose places are the bits of numbers: bit 0 before its first character."""

    __slots__ = ("_masks", "every", "letters", "size", "text", "work")

    def __init__(self, text: str) -> None:
        self.text = text
        self.size = len(text)
        self.letters = set(text)
        self.every = (2 << self.size) - 1
        """Each place, the end of the text among them."""
        self._masks: dict[Fits, int] = {}
        self.work = 4 + self.size // 128
        spend(8 + self.size // 8)

    def where(self, fits: Fits) -> int:
        """The places before a character that fits."""
        mask = self._masks.get(fits)
        if mask is None:
            spend(8 + self.size // 8 + len(self.letters))
            table = {ord(char): "1" if fits(char) else "0" for char in self.letters}
            mask = self._masks[fits] = int(self.text[::-1].translate(table) or "0", 2)
        return mask

    # From where something begins to where it ends -----------------------------------------------

    def ends(self, steps: Steps, begins: int) -> int:
        """Where the steps may end that begin at one of these places."""
        for step in steps:
            if not begins:
                return 0
            begins = self._end(step, begins)
        return begins

    def begins(self, steps: Steps, ends: int) -> int:
        """Where the steps may begin that end at one of these places."""
        for step in reversed(steps):
            if not ends:
                return 0
            ends = self._begin(step, ends)
        return ends

    def _end(self, step: Step, begins: int) -> int:
        spend(self.work)
        kind = step[0]
        if kind == CHARS:
            return (begins & self.where(step[1])) << 1
        if kind == ANY:
            return (begins << 1) & self.every
        if kind == MANY:
            if step[1] is None:
                return self.every & -(begins & -begins)  # from the first on
            # Adding carries each place through the characters that fit behind it.
            fits = self.where(step[1])
            return (((begins & fits) + fits) ^ fits) | begins
        if kind == EITHER:
            return self._any_of(self.ends, step[1], begins)
        if kind == REPEAT:
            return self._repeated(self.ends, step, begins)
        if kind == NOT:
            return self._none_of(self.ends, step[1], begins, upwards=True)
        return self._only_where(step, begins)

    def _begin(self, step: Step, ends: int) -> int:
        spend(self.work)
        kind = step[0]
        if kind == CHARS:
            return (ends >> 1) & self.where(step[1])
        if kind == ANY:
            return ends >> 1
        if kind == MANY:
            if step[1] is None:
                return (1 << ends.bit_length()) - 1  # up to the last
            return self._back_through(self.where(step[1]), ends)
        if kind == EITHER:
            return self._any_of(self.begins, step[1], ends)
        if kind == REPEAT:
            return self._repeated(self.begins, step, ends)
        if kind == NOT:
            return self._none_of(self.begins, step[1], ends, upwards=False)
        return self._only_where(step, ends)

    def _back_through(self, fits: int, ends: int) -> int:
        """Each place from which characters that all fit lead to one of these places."""
        found, through, reach = ends, fits, 1
        while through and reach <= self.size:
            spend(self.work)
            found |= (found >> reach) & through
            through &= through >> reach
            reach *= 2
        return found

    def _any_of(self, along: Callable[[Steps, int], int], ways: Sequence[Steps], here: int) -> int:
        found = 0
        for way in ways:
            found |= along(way, here)
        return found

    def _repeated(self, along: Callable[[Steps, int], int], step: Step, here: int) -> int:
        _, least, most, steps = step
        for _ in range(least):
            here = along(steps, here)
            if not here:
                return 0
        found = new = here
        more = most - least if most is not None else -1
        while new and more:
            spend(self.work)
            new = along(steps, new) & ~found
            found |= new
            more -= 1
        return found

    def _none_of(
        self, along: Callable[[Steps, int], int], ways: Sequence[Steps], here: int, *, upwards: bool
    ) -> int:
        found = 0
        while here:
            spend(self.work)
            place = here & -here
            here ^= place
            reached = self.every & -place if upwards else (place << 1) - 1
            found |= reached & ~self._any_of(along, ways, place)
        return found

    def _only_where(self, step: Step, here: int) -> int:
        kind, what = step
        if kind == AT:
            places: int = what(self)
            return here & places
        if kind in (AHEAD, NOT_AHEAD):
            places = self.begins(what, self.every)
        else:
            places = self.ends(what, self.every)
        return here & (places if kind in (AHEAD, BEHIND) else ~places)


def first(places: int) -> int:
    """The first of several places."""
    return (places & -places).bit_length() - 1


def last(places: int) -> int:
    """The last of several places."""
    return places.bit_length() - 1
