"""Tokens of sessions live in memory only, end by themselves, and can be taken back."""

from __future__ import annotations

import gc
import pickle
import time

import pytest

from redoma.vault.session_tokens import SessionTokens

pytestmark = pytest.mark.requirement("S10")


def test_a_token_is_good_for_who_it_was_made_for_until_it_is_taken_back() -> None:
    tokens = SessionTokens(seconds=60)
    ada, bob, again = tokens.issue("ada"), tokens.issue("bob"), tokens.issue("ada")
    assert [tokens.holder(t.reveal()) for t in (ada, bob, again)] == ["ada", "bob", "ada"]
    tokens.revoke("ada")
    assert [tokens.holder(t.reveal()) for t in (ada, bob, again)] == [None, "bob", None]
    assert tokens.holder("") is tokens.holder("\udc80") is None


def test_a_token_ends_by_itself() -> None:
    tokens = SessionTokens(seconds=0.05)
    token = tokens.issue("ada").reveal()
    assert tokens.holder(token) == "ada"
    time.sleep(0.06)
    assert tokens.holder(token) is None


def test_nothing_of_a_token_is_kept_or_written_down() -> None:
    tokens = SessionTokens(seconds=60)
    token = tokens.issue("ada").reveal()
    assert token not in repr(tokens)
    assert token not in repr(gc.get_referents(tokens))
    with pytest.raises(TypeError):
        pickle.dumps(tokens)


def test_nobody_fills_memory_with_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redoma.vault.session_tokens._MOST", 3)
    tokens = SessionTokens(seconds=60)
    made = [tokens.issue(str(number)) for number in range(5)]
    assert [tokens.holder(t.reveal()) for t in made] == [None, None, "2", "3", "4"]
