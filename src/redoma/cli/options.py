"""Options of a command line, read strictly: what is not known is an error that says what is.

`argparse` costs a cold process more than judging a command does; our commands need flags, named
values and words, and nothing else.
"""

from __future__ import annotations

from redoma.model.errors import UsageError


class Options:
    """What was given: flags that are on, values by option, and the words left over."""

    __slots__ = ("flags", "values", "words")

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, str] = {}
        self.words: list[str] = []


def read(
    arguments: list[str],
    *,
    flags: tuple[str, ...] = (),
    values: tuple[str, ...] = (),
    usage: str,
    words_hint: str = "",
) -> Options:
    """Sorts arguments into options and words; everything after `--` is a word."""
    found = Options()
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            found.words += rest
            break
        if argument == "-" or not argument.startswith("-"):
            found.words.append(argument)
            continue
        name, equals, value = argument.partition("=")
        if name in flags and not equals:
            found.flags.add(name)
        elif name in values:
            if not equals:
                value = next(rest, "")
                if not value:
                    raise UsageError(f"{name} needs a value", hint=usage)
            if found.values.get(name, value) != value:
                raise UsageError(f"{name} is given twice", hint=usage)
            found.values[name] = value
        else:
            raise UsageError(f"unknown option {argument}", hint=words_hint or usage)
    return found


def nearest(word: str, known: list[str]) -> str:
    """The known name that was most likely meant, or nothing."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1)), "")
