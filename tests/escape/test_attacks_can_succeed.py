"""A test that cannot fail proves nothing: every attack succeeds where nothing holds it.

Most are shown under the engine `direct`, which encloses nothing. What that engine does hold (a
clean environment, resource limits), and what would touch the machine's own mounts, is shown by a
process of its own, in a mount namespace that ends with it.
"""

from __future__ import annotations

import pytest

from tests.escape.attack import Attack, Unsupported, all_attacks, who
from tests.escape.inside import BARE, Redoma

pytestmark = pytest.mark.both_users

DIRECT = Redoma("minimal", "direct")
# What works for root too is shown by root in a usual run, and by everybody in a full one.
WORKING = [
    pytest.param(
        attack,
        id=str(attack),
        marks=[pytest.mark.full] if who() == "user" and "root" in attack.works_for else [],
    )
    for attack in all_attacks()
    if who() in attack.works_for
]


@pytest.mark.parametrize("attack", WORKING)
def test_an_attack_succeeds_where_nothing_holds_it(attack: Attack) -> None:
    try:
        evidence = attack.against(BARE if attack.only_bare else DIRECT)
    except Unsupported as reason:
        pytest.skip(str(reason))
    assert evidence


def test_every_attack_works_for_somebody() -> None:
    never = {attack.name for attack in all_attacks() if not attack.works_for}
    # The first is shown by its neighbour, in another's place; the second is an attack on the look
    # after a run, and where nothing encloses nobody looks.
    assert never == {"leave_files_of_a_strange_owner", "have_the_look_afterwards_change_a_mode"}
