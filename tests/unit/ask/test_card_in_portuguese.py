"""The card at a real terminal, for somebody who reads Portuguese; its keys are the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from redoma import i18n as words
from redoma.ask.card import Look, card
from redoma.model.request import Choice
from tests.unit.ask.asked import FORCE_PUSH
from tests.unit.ask.person import DUMB, Person

PROMPT = " s: "


@pytest.fixture
def person() -> Iterator[Person]:
    made = Person()
    words.choose("pt-BR")
    yield made
    words.choose("")
    made.close()


def test_the_card_says_everything_but_the_readers_own_words(person: Person) -> None:
    person.answering(FORCE_PUSH)
    person.sees("redoma: isto pode ser executado?  PERIGOSO")
    person.sees("git push --force origin main")
    person.sees("motivo   git push --force substitui um histórico")
    person.sees("toca     reescreve o histórico, publica")
    person.sees("efeito   NÃO pode ser desfeito; alcança a rede")
    person.sees("em vez   git push --force-with-lease para quando")
    person.sees("em       /srv/project")
    person.sees("pedido   por claude-code, na fase release, sessão s1")
    person.sees("antes    git status")
    person.sees("a aprovar, uma vez")
    person.sees("negar em ")
    person.sees(PROMPT)
    person.presses(b"d")
    answer = person.answered()
    assert answer is not None
    assert answer.choice is Choice.DENY
    assert b"negado" in person.shown


@pytest.mark.parametrize("line", ["a", "approve", "aprovar", "APROVAR"])
def test_whole_words_are_taken_in_both_languages(person: Person, line: str) -> None:
    person.answering(FORCE_PUSH, DUMB)
    person.sees(PROMPT)
    person.presses(f"{line}\n".encode())
    answer = person.answered()
    assert answer is not None
    assert answer.choice is Choice.APPROVE


def test_no_line_is_wider_than_the_screen(person: Person) -> None:
    for columns in (31, 50, 80):
        lines = card(FORCE_PUSH, Look(columns=columns), lambda text: text)
        assert max(map(len, lines)) < columns
