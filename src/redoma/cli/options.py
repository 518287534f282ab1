"""The table of a command: every option said once, for reading, help, completion and documents.

A row says how an option is spelled and what it is for. `argparse` costs a cold process more than
judging a command does; a table is plain data, and only the asked command's is loaded.
"""

from __future__ import annotations

import sys

from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Does = Callable[["CommandLine"], int]

USAGE_STATUS = 2
# Choices that others declare, and that are looked up where they are shown.
LEVELS_OF_ISOLATION, ENGINES = "@levels", "@engines"


class Option:
    """A row: `-q, --quiet` is a flag, `--pack PACK` takes a value, `--mock[=FILE]` perhaps one.

    `many` may be repeated, `choices` are the values that are known, `of` the subcommands that take
    it, `feeds` the argument of `Sandbox` it becomes. A `late` flag may follow the command to run.
    """

    __slots__ = (
        *("about", "choices", "feeds", "late", "many", "name"),
        *("names", "of", "shown", "spelled", "takes"),
    )

    def __init__(
        self,
        spelled: str,
        about: str,
        *,
        many: bool = False,
        choices: str = "",
        feeds: str = "",
        of: str = "",
        late: bool = False,
        shown: bool = True,
    ) -> None:
        *short, long = spelled.split(", ")
        self.name = long.partition(" ")[0].partition("[")[0]
        self.names = (*short, self.name)
        self.takes = long[len(self.name) :]
        self.spelled = spelled
        self.about = about
        self.many = many
        self.choices = choices
        self.feeds = feeds
        self.of = of
        self.late = late
        self.shown = shown


class Heading:
    """A title above the rows that follow it."""

    __slots__ = ("about",)

    def __init__(self, about: str) -> None:
        self.about = about


class Argument:
    """A row for a word of the command line that is no option."""

    __slots__ = ("about", "spelled")

    def __init__(self, spelled: str, about: str) -> None:
        self.spelled = spelled
        self.about = about


class Sample:
    """A command line that shows how it is used; tests run it and expect its status."""

    __slots__ = ("about", "line", "status")

    def __init__(self, line: str, about: str, *, status: int = 0) -> None:
        self.line = line
        self.about = about
        self.status = status


class Subcommand:
    """A row for what a command does by a second word, with at most so many words after it."""

    __slots__ = ("about", "does", "most", "name", "takes")

    def __init__(self, name: str, takes: str, about: str, most: int | None) -> None:
        self.name = name
        self.takes = takes
        self.about = about
        self.most = most
        self.does: Does | None = None


class CommandLine:
    """What was given: flags that are on, values by option, and the words left over."""

    __slots__ = ("command", "flags", "many", "values", "verb", "words")

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, str] = {}
        self.many: dict[str, list[str]] = {}
        self.words: list[str] = []
        self.verb = ""
        self.command: str | list[str] = ""  # to run: shell text, or a program and its words

    @property
    def json(self) -> bool:
        return "--json" in self.flags

    def every(self, name: str) -> list[str]:
        """The values of an option that may be repeated."""
        return self.many.get(name, [])


HELP = Option("-h, --help", "this text")


class CommandTable:
    """A command: its rows, and what it does.

    `borrowed` are another command's rows, with the same meaning here, `without` those of them that
    are read only to be refused with a reason. `runs` is for commands whose word is a command.
    """

    def __init__(  # noqa: PLR0913 — a table has many parts, each by its own name
        self,
        name: str,
        *about: str,
        usage: tuple[str, ...] = (),
        arguments: tuple[Argument, ...] = (),
        options: tuple[Option | Heading, ...] = (),
        borrowed: tuple[Option | Heading, ...] = (),
        without: str = "",
        notes: tuple[str, ...] = (),
        status: str = "",
        samples: tuple[Sample, ...] = (),
        stray: str = "",
        runs: bool = False,
        usual: str = "",
        explains: bool = False,
    ) -> None:
        """`usual` is the subcommand where none is named, unless the bare command `explains` itself.

        `stray` helps where a word was taken for an option.
        """
        self.name = name
        self.about = about
        self.usage = usage
        self.arguments = arguments
        self.options = options
        self.borrowed = borrowed
        self.without = without
        self.notes = notes
        self.status = status
        self.samples = samples
        self.stray = stray
        self.runs = runs
        self.usual = usual
        self.explains = explains or not usual
        self.subcommands: dict[str, Subcommand] = {}
        self._does: Does | None = None

    def main(self, does: Does) -> Does:
        """Marks the function that carries the command out."""
        self._does = does
        return does

    def subcommand(
        self, name: str, takes: str, about: str, *, most: int | None = 0
    ) -> Callable[[Does], Does]:
        """Marks the function that carries a subcommand out, and gives it its row."""
        row = self.subcommands[name] = Subcommand(name, takes, about, most)

        def mark(does: Does) -> Does:
            row.does = does
            return does

        return mark

    def __call__(self, arguments: list[str]) -> int:
        """Reads a command line and does what it says; shows the help where that is asked for."""
        line = self.read(arguments)
        if "--help" in line.flags:
            from redoma.cli.help import page

            sys.stdout.write(page(self))
            return 0
        if not self.subcommands:
            assert self._does is not None
            return self._does(line)
        if not arguments and self.explains:
            from redoma.cli.help import page

            sys.stderr.write(page(self))
            return USAGE_STATUS
        does = self._chosen(line).does
        assert does is not None
        return does(line)

    def rows(self) -> list[Option]:
        """Every option that can be given, our own before those of another command."""
        own = [row for row in self.options if isinstance(row, Option)]
        names = {row.name for row in own}
        lent = [row for row in self.borrowed if isinstance(row, Option) and row.name not in names]
        return [*own, *lent, HELP]

    def offered(self) -> list[Option]:
        """The options that a reader is told of."""
        refused = self.without.split()
        return [row for row in self.rows() if row.shown and row.name not in refused]

    def read(self, arguments: list[str]) -> CommandLine:
        """Sorts arguments into options and words; everything after `--` is a word."""
        known = {name: row for row in self.rows() for name in row.names}
        line = CommandLine()
        rest = iter(arguments)
        for argument in rest:
            if argument == "--":
                self._end(line, list(rest))
            elif argument == "-" or not argument.startswith("-"):
                if self.runs:
                    self._only(line, argument, list(rest), known)
                else:
                    line.words.append(argument)
            else:
                name, equals, value = argument.partition("=")
                row = known.get(name)
                if row is None:
                    raise UsageError(f"unknown option {name}", hint=self._meant(name, known))
                if equals and not row.takes:
                    raise UsageError(f"{name} takes no value", hint=self.hint)
                if not equals and not row.takes.startswith(" "):
                    line.flags.add(row.name)
                else:
                    self._put(line, row, value if equals else next(rest, None))
        return line

    @property
    def hint(self) -> str:
        """Where this command is explained."""
        return f"redoma {self.name} --help"

    def _end(self, line: CommandLine, words: list[str]) -> None:
        if not self.runs:
            line.words += words
        elif not words:
            raise UsageError(
                "no program after --", hint=f"redoma {self.name} -- PROGRAM ARGUMENT..."
            )
        else:
            line.command = words

    def _only(
        self, line: CommandLine, command: str, after: list[str], known: dict[str, Option]
    ) -> None:
        """The one word that is a command, or a program and its words: `redoma run ls -l`."""
        if after and _is_program(command) and after[0] not in self._late(known):
            line.command = [command, *after]
            return
        for argument in after:
            row = known.get(argument)
            if row is None or not row.late:
                raise UsageError(
                    f"more than one command: {command!r} and {argument!r}",
                    hint="quote a shell command, or write -- before a program",
                )
            line.flags.add(row.name)
        line.command = command

    def _late(self, known: dict[str, Option]) -> list[str]:
        return [name for name, row in known.items() if row.late]

    def _put(self, line: CommandLine, row: Option, value: str | None) -> None:
        # What feeds a sandbox may be empty: a script passes a variable that is not set.
        if value is None or not (value or row.feeds):
            raise UsageError(f"{row.name} needs a value", hint=self.hint)
        if row.many:
            line.many.setdefault(row.name, []).append(value)
        elif line.values.get(row.name, value) != value:
            raise UsageError(f"{row.name} is given twice", hint=self.hint)
        else:
            line.values[row.name] = value

    def _meant(self, name: str, known: dict[str, Option]) -> str:
        meant = nearest(name, list(known)) if name.startswith("--") else ""
        return meant or self.stray or self.hint

    def _chosen(self, line: CommandLine) -> Subcommand:
        """The subcommand that the first word names; an error where it does not take the rest."""
        verb = line.verb = line.words.pop(0) if line.words else self.usual
        row = self.subcommands.get(verb)
        if row is None:
            meant = nearest(verb, list(self.subcommands))
            hint = f"redoma {self.name} {meant}" if meant else self.hint
            told = f"there is no redoma {self.name} {verb!r}" if verb else "nothing to do"
            raise UsageError(told, hint=hint)
        given = line.flags | set(line.values) | set(line.many)
        strays = [
            o.name for o in self.rows() if o.of and o.name in given and verb not in o.of.split()
        ]
        if row.most is not None:
            strays += [repr(word) for word in line.words[row.most :]]
        if strays:
            raise UsageError(f"redoma {self.name} {verb} takes no {strays[0]}", hint=self.hint)
        return row


def _is_program(word: str) -> bool:
    """Whether a word can only be a program's name, and is no text for a shell.

    A slip such as `redoma run 'make all' --json` would else look for a program of that name.
    """
    return not any(sign.isspace() or sign in "|&;<>()$`\\\"'*?[]{}#!=~" for sign in word)


def nearest(word: str, known: list[str]) -> str:
    """The known name that was most likely meant, or nothing."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1)), "")
