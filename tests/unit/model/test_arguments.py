"""Arguments: a wrong type is an error that names it, never a guess."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from redoma.model import arguments
from redoma.model.arguments import WrongType, WrongValue
from redoma.model.errors import UsageError


@pytest.mark.parametrize("given", ["no", "false", "", "True", 0, 1, None, [], [True]])
def test_only_true_and_false_are_flags(given: object) -> None:
    with pytest.raises(WrongType, match="allow_network: True or False is needed"):
        arguments.flag("allow_network", given)


@pytest.mark.parametrize("given", ["/tmp", b"/tmp", Path("/tmp"), 3, None, {"/tmp": 1}, ["a", 3]])
def test_one_path_alone_is_not_a_list_of_its_letters(given: object) -> None:
    with pytest.raises(WrongType, match="allow_read"):
        arguments.paths("allow_read", given)


def test_lists_tuples_sets_and_paths_are_taken() -> None:
    assert arguments.paths("p", ["/a", Path("/b")]) == ("/a", "/b")
    assert set(arguments.texts("p", {"a", "b"})) == {"a", "b"}
    assert arguments.texts("p", (each for each in "ab")) == ("a", "b")


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("5", WrongType),
        (True, WrongType),
        (5.0, WrongType),
        (None, WrongType),
        (0, WrongValue),
        (-1, WrongValue),
        (1 << 20_000, WrongValue),
    ],
    ids=lambda each: str(each)[:20] if not isinstance(each, int) or abs(each) < 9 else "long",
)
def test_a_whole_number_is_neither_a_text_nor_a_flag_nor_out_of_range(
    given: object, kind: type[UsageError]
) -> None:
    with pytest.raises(kind, match="max_memory_mb"):
        arguments.whole("max_memory_mb", given, least=1)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("5", WrongType),
        (True, WrongType),
        (float("nan"), WrongValue),
        (float("inf"), WrongValue),
        (-0.0, WrongValue),
        (-3, WrongValue),
    ],
)
def test_a_number_is_finite_and_above_zero(given: object, kind: type[UsageError]) -> None:
    with pytest.raises(kind, match="timeout"):
        arguments.number("timeout", given)


@pytest.mark.parametrize("check", [arguments.text, arguments.path])
def test_a_nul_byte_is_part_of_nothing(check: Callable[[str, object], str]) -> None:
    with pytest.raises(WrongValue):
        check("cwd", "a\0b")


def test_a_value_is_shown_short_and_never_by_its_own_word() -> None:
    class Liar:
        def __repr__(self) -> str:
            raise RuntimeError

    assert arguments.shown(Liar()) == "a Liar"
    assert len(arguments.shown("x" * 10_000)) < 70
