"""How much is found, and how much is taken for a secret that is none, on a set with labels."""

from __future__ import annotations

import pytest

from redoma.vault.redactor import Redactor
from tests.unit.vault.labelled import Secret, negatives, positives

SEEDS = (1, 2, 3)


def missed(redactor: Redactor, cases: list[Secret]) -> list[Secret]:
    """The texts of which some secret is left."""
    return [case for case in cases if any(s in redactor.text(case.text) for s in case.secrets)]


@pytest.mark.requirement("S11")
@pytest.mark.parametrize("seed", SEEDS)
def test_at_least_98_of_100_secrets_are_found(seed: int) -> None:
    cases = positives(seed)
    left = missed(Redactor(), cases)
    assert len(cases) >= 300
    assert len(left) <= 0.02 * len(cases), [case.text for case in left]


@pytest.mark.parametrize("seed", SEEDS)
def test_of_a_thousand_ordinary_texts_at_most_five_are_changed(seed: int) -> None:
    texts = negatives(seed)
    changed = [text for text in texts if Redactor().text(text) != text]
    assert len(texts) >= 1000
    assert len(changed) <= 0.005 * len(texts), changed


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_redacted_once_is_not_changed_again(seed: int) -> None:
    redactor = Redactor()
    once = [redactor.text(case.text) for case in positives(seed)]
    assert [redactor.text(text) for text in once] == once


def test_the_measure_itself_can_fail() -> None:
    case = Secret("none", "nothing here", ("nothing",))
    assert missed(Redactor(), [case]) == [case]
