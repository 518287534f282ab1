"""A message is found by its id, and what stands in its holes is copied as it is."""

from __future__ import annotations

import pytest

from redoma.i18n import in_language
from redoma.i18n.catalogue import LIBRARY, Catalogue
from redoma.i18n.po_file import PoEntry
from redoma.model.message import Message


def entry(english: str, foreign: str, **more: object) -> PoEntry:
    return PoEntry(english=english, foreign=foreign, **more)


SMALL = Catalogue(
    (
        entry("denied", "negado"),
        entry("cannot read {path}: {why}", "{why}: {path} não pode ser lido"),
        entry(
            "{path} change", "{path} mudança", many="{path} changes", more=("mudanças de {path}",)
        ),
        entry("{{}} is {what}", "{{}} é {what}"),
        entry("Permission denied", "Permissão negada", context=LIBRARY),
        entry("expected {0}, got {1}", "veio {1}, esperava-se {0}", context=LIBRARY),
    ),
    lambda count: int(count > 1),
)
PATHS = ["", "{why}", "{{", "a\nb", "\\g<0>", "denied", "cannot read x: y", "ção"]


@pytest.mark.parametrize("path", PATHS)
def test_a_text_in_a_hole_is_never_read(path: str) -> None:
    told = Message("cannot read {path}: {why}", path=path, why=7)
    assert SMALL.said(told) == f"7: {path} não pode ser lido"


def test_a_message_in_a_hole_is_said_too() -> None:
    inner = Message("cannot read {path}: {why}", path="f", why=Message("denied"))
    told = Message("cannot read {path}: {why}", path="denied", why=inner)
    assert SMALL.said(told) == "negado: f não pode ser lido: denied não pode ser lido"


def test_white_space_around_a_message_stays() -> None:
    assert SMALL.said(Message("  denied\n")) == "  negado\n"
    told = Message("cannot read {path}: {why}\n", path="f", why="g")
    assert SMALL.said(told) == "g: f não pode ser lido\n"


def test_a_message_that_the_catalogue_has_not_stays_english_and_those_in_it_do_not() -> None:
    told = Message("{place}: unknown: {what}", place="f:3", what=Message("denied"))
    assert SMALL.said(told) == "f:3: unknown: negado"
    assert SMALL.said(Message("nothing known")) == "nothing known"


def test_a_finished_text_is_not_matched_with_any_template() -> None:
    assert SMALL.said(Message("cannot read f: g")) == "cannot read f: g"


@pytest.mark.parametrize(
    ("count", "said"), [(0, "f mudança"), (1, "f mudança"), (2, "mudanças de f")]
)
def test_a_count_takes_the_form_of_the_other_language(count: int, said: str) -> None:
    assert SMALL.said(Message.counted("{path} change", "{path} changes", count, path="f")) == said


def test_braces_that_are_meant_stay() -> None:
    assert SMALL.said(Message("{{}} is {what}", what="x")) == "{} é x"


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("Permission denied", "Permissão negada"),
        ("[Errno 13] Permission denied: '/x'", "[Errno 13] Permissão negada: '/x'"),
        ("expected 'a', got \"b c\"", "veio \"b c\", esperava-se 'a'"),
        ("denied", "denied"),
    ],
)
def test_what_the_system_or_a_library_says_is_looked_up_whole(why: str, said: str) -> None:
    told = Message("cannot read {path}: {why}", path="f", why=why)
    assert SMALL.said(told) == f"{said}: f não pode ser lido"


def test_messages_too_deep_inside_each_other_stay_english() -> None:
    told: Message = Message("denied")
    for _ in range(2000):
        told = Message("cannot read {path}: {why}", path="f", why=told)
    assert SMALL.said(told).endswith("cannot read f: denied" + ": f não pode ser lido" * 9)


def test_english_is_given_back_as_it_is() -> None:
    assert in_language("denied", "en") == "denied"
    assert in_language("{name} needs a value", "en", name="--x") == "--x needs a value"
