"""An attack: what it tries, which promise it would break, and how that is seen from outside."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.escape.inside import Box, Enclosure
from tests.escape.promises import P
from tests.escape.world import World

Try = Callable[[World, Box], str]
BOTH = frozenset({"root", "user"})


class Unsupported(Exception):
    """This machine lacks what the attack is about, so it cannot be tried here."""


class Attack(NamedTuple):
    """One way to break one promise; `attempt` answers with the evidence, or with nothing."""

    promise: P
    name: str
    # The line of the comparison that it belongs to.
    row: str
    attempt: Try
    # Who can do it where nothing encloses the command: that shows that the attack works at all.
    works_for: frozenset[str]
    # Whether the engine `direct` cannot show that: it holds this one (clean environment, limits),
    # or success would touch the machine's own mounts.
    only_bare: bool

    def against(self, enclosure: Enclosure) -> str:
        """Evidence that the attack succeeded; empty where it was held."""
        world = World()
        try:
            return self.attempt(world, Box(enclosure, world))
        finally:
            world.close()

    def __str__(self) -> str:
        return self.name


ATTACKS: dict[str, Attack] = {}


def attack(
    promise: P,
    row: str,
    *,
    works_for: frozenset[str] | str = BOTH,
    only_bare: bool = False,
) -> Callable[[Try], Try]:
    """Adds an attack, named as its function is."""

    def add(attempt: Try) -> Try:
        name = attempt.__name__
        assert name not in ATTACKS, name
        users = frozenset({works_for} - {""}) if isinstance(works_for, str) else works_for
        ATTACKS[name] = Attack(promise, name, row, attempt, users, only_bare)
        return attempt

    return add


def all_attacks() -> list[Attack]:
    """Every attack of this folder, in the order of promises."""
    for path in sorted((Path(__file__).parent / "attacks").glob("*.py")):
        importlib.import_module(f"tests.escape.attacks.{path.stem}")
    order = list(P)
    return sorted(ATTACKS.values(), key=lambda a: order.index(a.promise))


def attacks_on(promise: P) -> list[Attack]:
    """The attacks on one promise."""
    return [a for a in all_attacks() if a.promise is promise]


def who() -> str:
    """Which kind of user this process is."""
    return "root" if os.geteuid() == 0 else "user"
