"""Options are read strictly, and a wrong one says what would be right."""

from __future__ import annotations

import pytest

from redoma.cli import options
from redoma.model.errors import UsageError


def read(*arguments: str) -> tuple[set[str], dict[str, str], list[str]]:
    found = options.read(list(arguments), flags=("--json",), values=("--pack",), usage="how")
    return found.flags, found.values, found.words


def test_options_may_stand_before_and_after_words() -> None:
    assert read("ls -l", "--json", "--pack=skill") == ({"--json"}, {"--pack": "skill"}, ["ls -l"])
    assert read("--pack", "skill", "-") == (set(), {"--pack": "skill"}, ["-"])


def test_after_two_dashes_everything_is_a_word() -> None:
    assert read("--json", "--", "rm", "--json", "--", "-x") == (
        {"--json"},
        {},
        ["rm", "--json", "--", "-x"],
    )


@pytest.mark.parametrize(
    "arguments",
    [["--josn"], ["-x"], ["--json=yes"], ["--pack"], ["--pack", "a", "--pack", "b"]],
    ids=str,
)
def test_what_is_not_understood_is_an_error_with_a_hint(arguments: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        read(*arguments)
    assert caught.value.hint == "how"
