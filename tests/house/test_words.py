"""Everything that a person may read has its Portuguese, and nothing else is in the catalogue."""

from __future__ import annotations

import ast
import gettext
import shutil
import subprocess
from pathlib import Path

import pytest

from redoma.i18n import languages
from redoma.i18n.catalogue import HOLE as NAMED
from redoma.i18n.catalogue import entries, place_of
from redoma.i18n.po_file import read
from redoma.i18n.template_search import HOLE, can_be_known, of
from tests.house.exceptions_of_messages import COGNATES, MODULES_WITHOUT, NOT_MESSAGES
from tests.house.messages import catalogue, messages, texts, written_plainly
from tests.house.tree import modules, tree_of

LANGUAGE = "pt-BR"
MESSAGES = messages()
ENTRIES = list(entries(LANGUAGE))
TRANSLATED = dict(ENTRIES)
# What a hole may hold at worst: nothing, lines, our own marks, another message's words.
AWKWARD = ("", "a\nb", "{0}", "{1~}", "{}", "ção", "`x`", "\\1", "needs a value", "denied", " z ")


def test_there_is_one_other_language_than_english() -> None:
    assert languages() == ("en", LANGUAGE)


def test_every_message_is_translated() -> None:
    missing = {text: where for text, where in MESSAGES.items() if not TRANSLATED.get(text)}
    assert not missing, "bin/words puts these into the catalogue; translate them there"


def test_the_catalogue_is_what_the_source_says() -> None:
    written = Path(place_of(LANGUAGE)).read_text(encoding="utf-8")
    assert written == catalogue(), "bin/words brings it up to date"


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed here")
def test_gettexts_own_tool_reads_the_catalogue(tmp_path: Path) -> None:
    made = tmp_path / "redoma.mo"
    subprocess.run(["msgfmt", "-c", "-o", made, place_of(LANGUAGE)], check=True)
    with made.open("rb") as file:
        theirs = gettext.GNUTranslations(file)
    entries_of_ours = list(read(Path(place_of(LANGUAGE)).read_text(encoding="utf-8")))
    assert [
        one.english
        for one in entries_of_ours
        if (
            theirs.pgettext(one.context, one.english)
            if one.context
            else theirs.gettext(one.english)
        )
        != one.foreign
    ] == []


def test_the_catalogue_holds_no_message_that_nobody_says_any_more() -> None:
    assert [english for english in TRANSLATED if english not in MESSAGES] == []


def test_no_message_is_translated_twice() -> None:
    seen = [english for english, _ in ENTRIES]
    assert [english for english in set(seen) if seen.count(english) > 1] == []


def test_a_translation_has_the_holes_of_its_message() -> None:
    def holes(text: str) -> set[str]:
        return {number for number, _ in HOLE.findall(text)} | set(NAMED.findall(text))

    assert [e for e, foreign in ENTRIES if holes(e) != holes(foreign)] == []


def test_a_translation_differs_from_its_message_unless_the_word_is_the_same() -> None:
    assert {e for e, foreign in ENTRIES if e == foreign} == COGNATES


def test_a_help_page_fits_the_screen_for_which_it_was_written() -> None:
    wide = [
        line
        for english, foreign in ENTRIES
        if max(map(len, english.split("\n"))) <= 100 and "\n" in english
        for line in foreign.split("\n")
        if len(line) > 101
    ]
    assert wide == []


def test_a_message_with_too_few_words_to_be_known_is_said_with_its_values_apart() -> None:
    weak = {m for m in MESSAGES if HOLE.search(m) and not can_be_known(m)}
    written = {
        node.args[0].value.strip()
        for path in modules().values()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "phrased"
        and len(node.args) > 1
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }
    assert weak - written == set()


def test_no_exception_is_left_of_something_that_is_not_said_any_more() -> None:
    assert NOT_MESSAGES - texts().keys() == set()
    assert [name for name in MODULES_WITHOUT if name not in modules()] == []


def test_every_message_keeps_awkward_values_as_they_are() -> None:
    catalogue = of(LANGUAGE)
    wrong = []
    for english, foreign in ENTRIES:
        ours = {int(number) for number, mark in HOLE.findall(foreign) if mark == "~"}
        count = 1 + max((int(number) for number, _ in HOLE.findall(english)), default=-1)
        for shift in range(len(AWKWARD) if count else 0):
            values = [AWKWARD[(shift + at) % len(AWKWARD)] for at in range(count)]
            values = ["<ours>" if at in ours else value for at, value in enumerate(values)]
            made = catalogue.filled(english, tuple(values))
            if made != _put(foreign, values):
                wrong.append((english, values, made))
    assert wrong == []


def test_every_message_is_known_again_once_its_holes_are_filled() -> None:
    catalogue = of(LANGUAGE)
    values = [f"<{number}>" for number in range(10)]
    numbered = [(e, f) for e, f in ENTRIES if not NAMED.search(e)]
    known = [(e, f) for e, f in numbered if not HOLE.search(e) or can_be_known(e)]
    wrong = [e for e, f in known if catalogue.translated(_put(e, values)) != _put(f, values)]
    assert wrong == []


def _put(text: str, values: list[str]) -> str:
    """The text with a value in each hole, put there piece by piece."""
    pieces = HOLE.split(text)
    for at in range(1, len(pieces), 3):
        pieces[at], pieces[at + 1] = values[int(pieces[at])], ""
    return "".join(pieces)


@pytest.mark.parametrize("room", ["redoma.cli", "redoma.hook", "redoma.ask"])
def test_what_is_written_for_people_is_said_in_their_language(room: str) -> None:
    strays = [
        f"{module}:{line}: {text}"
        for module, path in modules().items()
        if module.startswith(room)
        for line, text in written_plainly(tree_of(path))
        if text in MESSAGES
    ]
    assert strays == []
