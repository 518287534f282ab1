"""The global option `--language`, taken out of a command line before its command reads it."""

from __future__ import annotations

import os

from redoma import i18n as words

OPTION = "--language"


def taken(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The language that was asked for, and the arguments without that.

    It may stand before or after the command. What follows `--` belongs to another program.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    left: list[str] = []
    wish = None
    rest = iter(arguments[:end])
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name == OPTION:
            wish = value if equals else next(rest, "")
        else:
            left.append(argument)
    return wish, left + arguments[end:]


def for_a_person(wish: str | None) -> None:
    """The language that was asked for, or that of the environment; an error where there is none."""
    words.choose("" if wish is None else words.known(wish))


def for_an_agent(wish: str | None) -> None:
    """English, unless the option or our own variable says otherwise: a locale is a person's."""
    said = os.environ if wish is None else {words.VARIABLE: wish}
    words.choose(words.asked_for(said))
