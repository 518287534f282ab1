"""Which language a reader gets: what they ask for, what their environment says, else English."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from redoma import i18n as words
from redoma.i18n.choice import for_a_person, for_an_agent, taken
from redoma.model.errors import UsageError

UTF8 = "pt_BR.UTF-8"


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": UTF8}, "pt-BR"),
        ({"LANG": "pt_PT.utf8"}, "pt-BR"),
        ({"LANG": "pt_BR.ISO-8859-1"}, "en"),
        ({"LANG": UTF8, "LC_ALL": "C"}, "en"),
        ({"LANG": UTF8, "LC_ALL": ""}, "pt-BR"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": UTF8}, "pt-BR"),
        ({"LANG": UTF8, "REDOMA_LANGUAGE": "en"}, "en"),
        ({"LANG": "C", "REDOMA_LANGUAGE": "pt-BR"}, "pt-BR"),
        ({"LANG": UTF8, "REDOMA_LANGUAGE": "klingon"}, "en"),
    ],
)
def test_the_environment_says_which_language(environ: dict[str, str], language: str) -> None:
    assert words.from_environment(environ) == language


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "ls"], (None, ["check", "ls"])),
        (["--language", "pt-BR", "check", "ls"], ("pt-BR", ["check", "ls"])),
        (["check", "--language=pt-BR", "ls"], ("pt-BR", ["check", "ls"])),
        (["check", "ls", "--language"], ("", ["check", "ls"])),
        (["run", "--", "x", "--language", "C"], (None, ["run", "--", "x", "--language", "C"])),
    ],
)
def test_the_option_stands_anywhere_but_in_another_programs_words(
    arguments: list[str], expected: tuple[str | None, list[str]]
) -> None:
    assert taken(arguments) == expected


@pytest.mark.parametrize("name", ["pt", "pt-BR", "pt_BR.UTF-8", "PT-br"])
def test_a_language_has_several_names(name: str) -> None:
    assert words.known(name) == "pt-BR"


@pytest.mark.parametrize("name", ["", "xx", "portuguese"])
def test_a_language_that_there_is_not_is_an_error(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        for_a_person(name)
    assert caught.value.hint == "languages: en, pt-BR"


@pytest.fixture
def restored() -> Iterator[None]:
    yield
    words.choose("")


def test_an_agent_reads_english_whatever_the_locale_of_its_machine(
    restored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDOMA_LANGUAGE", raising=False)
    monkeypatch.setenv("LC_ALL", UTF8)
    for_an_agent(None)
    assert words.phrased("denied") == "denied"
    for_an_agent("pt-BR")
    assert words.phrased("denied") == "negado"


def test_without_a_choice_the_locale_of_the_process_counts(
    restored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDOMA_LANGUAGE", raising=False)
    monkeypatch.setenv("LC_ALL", UTF8)
    for_a_person(None)
    assert words.phrased("{0} needs a value", "--x") == "--x precisa de um valor"
