"""Options are read strictly by a table, and a wrong one says what would be right."""

from __future__ import annotations

import pytest

from redoma.cli import COMMANDS, load
from redoma.cli.options import CommandTable, Option
from redoma.cli.run import RUN
from redoma.cli.run_options import RUN_OPTIONS
from redoma.model.errors import UsageError

TABLE = CommandTable(
    "try",
    options=(
        Option("--json", "a flag"),
        Option("--pack PACK", "a value"),
        Option("--env NAME", "values", many=True),
        Option("-q, --quiet", "a flag with a short name"),
        Option("--mock[=FILE]", "perhaps a value"),
    ),
)


def read(*arguments: str) -> tuple[set[str], dict[str, str], list[str]]:
    found = TABLE.read(list(arguments))
    return found.flags, found.values, found.words


def test_options_may_stand_before_and_after_words() -> None:
    assert read("ls -l", "--json", "--pack=skill") == ({"--json"}, {"--pack": "skill"}, ["ls -l"])
    assert read("--pack", "skill", "-") == (set(), {"--pack": "skill"}, ["-"])


def test_a_short_name_is_the_long_one() -> None:
    assert read("-q") == ({"--quiet"}, {}, [])


def test_a_value_that_may_be_left_out_is_given_with_an_equals_sign() -> None:
    assert read("--mock", "x") == ({"--mock"}, {}, ["x"])
    assert read("--mock=x") == (set(), {"--mock": "x"}, [])


def test_what_may_be_repeated_is_collected() -> None:
    assert TABLE.read(["--env", "a", "--env=b"]).every("--env") == ["a", "b"]


def test_after_two_dashes_everything_is_a_word() -> None:
    assert read("--json", "--", "rm", "--json", "--", "-x") == (
        {"--json"},
        {},
        ["rm", "--json", "--", "-x"],
    )


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--josn"], "--json"),
        (["-x"], "redoma try --help"),
        (["--json=yes"], "redoma try --help"),
        (["--pack"], "redoma try --help"),
        (["--pack", "a", "--pack", "b"], "redoma try --help"),
    ],
    ids=str,
)
def test_what_is_not_understood_is_an_error_with_a_hint(arguments: list[str], hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(*arguments)
    assert caught.value.hint == hint


def test_a_value_is_not_repeated_where_an_option_is_unknown() -> None:
    with pytest.raises(UsageError) as caught:
        read("--passwrod=hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("after", [["-l"], ["--json"], ["b"]], ids=str)
def test_nothing_stands_behind_the_text_of_a_shell_command(after: list[str]) -> None:
    for text in ("ls a", "ls;b", "a=b", "ls|wc", "~/x", "$x"):
        with pytest.raises(UsageError) as caught:
            RUN.read([text, *after])
        assert caught.value.hint == "quote a shell command, or write -- before a program"


@pytest.mark.parametrize("after", [["-l"], ["--json"], ["b", "$c", "--", "d e"]], ids=str)
def test_the_words_behind_a_program_are_its_own(after: list[str]) -> None:
    line = RUN.read(["--level", "strict", "/bin/ls", *after])
    assert (line.command, line.flags) == (["/bin/ls", *after], set())


def test_a_previews_own_flags_may_stand_behind_its_command() -> None:
    assert load("preview").read(["ls", "--stat"]).flags == {"--stat"}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_of_a_command_is_spelled_twice(name: str) -> None:
    names = [each for row in load(name).rows() for each in row.names]
    assert len(names) == len(set(names))


def test_every_option_of_a_run_feeds_the_sandbox_or_is_about_how_it_is_shown() -> None:
    strays = [row.name for row in RUN_OPTIONS if isinstance(row, Option) and not row.feeds]
    assert strays == ["--tty", "--no-tty", "--json", "--trace-files", "--quiet", "--verbose"]
