"""An effect answers for itself whether it leaves the machine and whether it can be undone."""

from __future__ import annotations

import pytest

from redoma.model.decision import Effect


@pytest.mark.parametrize(
    ("effect", "leaves", "irreversible"),
    [
        (Effect.READS, False, False),
        (Effect.WRITES, False, False),
        (Effect.DELETES, False, False),
        (Effect.NETWORK, True, False),
        (Effect.INSTALLS, True, False),
        (Effect.PUBLISHES, True, True),
        (Effect.EXFILTRATES, True, True),
        (Effect.SYSTEM, False, True),
        (Effect.UNKNOWN, False, True),
    ],
)
def test_an_effect_says_whether_it_leaves_the_machine_and_can_be_undone(
    effect: Effect, leaves: bool, irreversible: bool
) -> None:
    assert (effect.leaves_machine, effect.irreversible) == (leaves, irreversible)
