"""The numbered promises that people read are those that are tested, word for word."""

from __future__ import annotations

import re

from tests.escape import test_promises
from tests.escape.attack import all_attacks, attacks_on
from tests.escape.inside import ROOT
from tests.escape.promises import P

TEXT = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
ROW = re.compile(r"\| (P\d+) \| (.+?) \| `([a-z-]+)` \| (.+?) \|")
# Promises about work going on as it should: their tests try the work, and not an attack.
WITHOUT_ATTACKS = {P.STUBS: "test_repositories.py", P.FAITHFUL: "test_faithful.py"}


def test_every_promise_is_written_down_as_it_is_tested() -> None:
    written = [
        (number, sentence, guarantee) for number, sentence, guarantee, _ in ROW.findall(TEXT)
    ]
    assert written == [(p.number, p.value.sentence, p.guarantee) for p in P]
    assert [p.number for p in P] == [f"P{number}" for number in range(1, len(P) + 1)]


def test_every_promise_names_a_test_that_there_is() -> None:
    for number, _, _, held_by in ROW.findall(TEXT):
        promise = next(p for p in P if p.number == number)
        if promise in WITHOUT_ATTACKS:
            assert WITHOUT_ATTACKS[promise] in held_by
            assert (ROOT / "tests/escape" / WITHOUT_ATTACKS[promise]).exists()
        else:
            assert callable(getattr(test_promises, held_by.strip("`"), None)), held_by


def test_every_promise_is_attacked() -> None:
    assert {p for p in P if not attacks_on(p)} == set(WITHOUT_ATTACKS)


def test_every_attack_says_what_it_would_break() -> None:
    assert [a.name for a in all_attacks() if a.promise not in P or not a.row] == []
