"""A message is found by its words, and what was put into it is copied as it is."""

from __future__ import annotations

import json

import pytest

from redoma.i18n import in_language
from redoma.i18n.template_search import MatchingCatalogue as Catalogue
from redoma.model.message import Message

SMALL = Catalogue(
    {
        "denied": "negado",
        "writes confined": "escritas confinadas",
        "network closed": "rede fechada",
        "{0} needs a value": "{0} precisa de um valor",
        "cannot read {0}: {1}": "{1}: {0} não pode ser lido",
        "{0} is {1}: its layer is gone": "{0} está {1~}: sua camada se foi",
        "deletes {0}": "apaga {0?}",
        "deletes {0}, outside the project": "apaga {0?}, fora do projeto",
        "it": "isso",
        "one\nof two": "uma\nde duas",
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("denied", "negado"),
        ("  denied\n", "  negado\n"),
        ("denied by nobody", "denied by nobody"),
        ("--x needs a value", "--x precisa de um valor"),
        ("cannot read /a: gone", "gone: /a não pode ser lido"),
        ("t1 is denied: its layer is gone", "t1 está negado: sua camada se foi"),
        ("deletes denied", "apaga denied"),
        ("deletes it", "apaga isso"),
        ("deletes a, outside the project", "apaga a, fora do projeto"),
        ("one\nof two", "uma\nde duas"),
        ("denied\nno message\n  denied", "negado\nno message\n  negado"),
        ("denied; --x needs a value", "negado; --x precisa de um valor"),
        ("denied; no message", "negado; no message"),
        ("writes confined, network closed", "escritas confinadas, rede fechada"),
        ("bwrap: writes confined, network closed", "bwrap: escritas confinadas, rede fechada"),
        ("a.yaml:3:1: denied", "a.yaml:3:1: negado"),
        ("", ""),
    ],
)
def test_a_text_is_said_as_far_as_it_is_made_of_messages(text: str, expected: str) -> None:
    assert SMALL.translated(text) == expected


@pytest.mark.parametrize(
    "value", ["", "{0}", "{1~}", "a\nb", "x needs a value", "\\g<0>", "denied"]
)
def test_values_given_apart_are_never_read(value: str) -> None:
    assert SMALL.filled("cannot read {0}: {1}\n", (value, 7)) == f"7: {value} não pode ser lido\n"


def test_a_text_of_any_size_takes_no_time_worth_speaking_of() -> None:
    text = "deletes " + "a: b, c; " * 200_000
    assert SMALL.translated(text) == text


def test_english_is_given_back_as_it_is() -> None:
    assert in_language("denied", "en") == "denied"
    assert in_language("{0} needs a value", "en", "--x") == "--x needs a value"


def test_what_was_stored_as_finished_english_is_known_by_its_named_template() -> None:
    made = Message("the workspace {path} does not exist", path="/srv/x")
    stored = json.loads(json.dumps(made))
    assert in_language(stored, "pt-BR") == in_language(made, "pt-BR")
    assert in_language(stored, "pt-BR") != made
