"""A command's table as a page for a person: its usage, what it does, a row for each option."""

from __future__ import annotations

from redoma.cli.options import (
    ENGINES,
    HELP,
    LEVELS_OF_ISOLATION,
    Argument,
    CommandTable,
    Heading,
    Option,
)
from redoma.i18n import phrased

WIDTH = 100
WIDEST_LABEL = 22
_INDENT = 2


def page(table: CommandTable) -> str:
    """What `redoma COMMAND --help` prints."""
    parts = [_usage(table)]
    parts += [_filled(phrased(paragraph)) for paragraph in table.about]
    rows: list[tuple[str, str]] = [
        *((row.spelled, phrased(row.about)) for row in table.arguments),
        *((row.name, phrased(row.about)) for row in table.subcommands.values()),
    ]
    if rows:
        parts.append(_rows(rows, _column(table)))
    parts.append(_options(table))
    lent = lent_options(table)
    if lent:
        title = phrased("options of `redoma run`, with the same meaning:")
        parts.append(f"{title}\n{_filled('  '.join(lent), indent=_INDENT, joint='  ')}")
    parts += [_filled(phrased(paragraph)) for paragraph in table.notes]
    if table.samples:
        shown = "".join(
            f"  {sample.line}\n{_filled(phrased(sample.about), indent=6)}"
            for sample in table.samples
        )
        parts.append(f"{phrased('examples:')}\n{shown}")
    if table.status:
        parts.append(_filled(phrased("exit status: {0}", phrased(table.status))))
    return "\n".join(parts)


def usage_lines(table: CommandTable) -> list[str]:
    """Each form of a command, as it is typed."""
    forms = [
        *table.usage,
        *(f"{row.name} {row.takes}".rstrip() for row in table.subcommands.values()),
    ]
    return [f"redoma {table.name} {form}".rstrip() for form in forms or ["[OPTION]..."]]


def lent_options(table: CommandTable) -> list[str]:
    """The spelling of every option that another command's table explains."""
    return [row.spelled for row in table.offered() if row in table.borrowed]


def told(row: Option | Argument) -> str:
    """What a row is for, in the reader's language."""
    about = phrased(row.about)
    if not isinstance(row, Option):
        return about
    if row.choices.startswith("@"):
        about = f"{about}: {', '.join(choices(row))}"
    return phrased("{0} (may be repeated)", about) if row.many else about


def choices(row: Option) -> tuple[str, ...]:
    """The values of an option that are known, as whoever declares them says."""
    if row.choices == LEVELS_OF_ISOLATION:
        from redoma.base.levels import LEVELS

        return LEVELS
    if row.choices == ENGINES:
        from redoma.pipeline.doctor import engine_names

        return engine_names()
    return tuple(row.choices.split())


def _usage(table: CommandTable) -> str:
    first, *more = usage_lines(table)
    head = phrased("usage: {0}", first)
    margin = " " * (len(head) - len(first))
    return "".join(f"{line}\n" for line in (head, *(f"{margin}{line}" for line in more)))


def _options(table: CommandTable) -> str:
    column = _column(table)
    made: list[str] = []
    for row in (*table.options, HELP):
        if isinstance(row, Heading):
            made.append(_filled(f"{phrased(row.about)}:"))
        elif row.shown:
            made.append(_row(row.spelled, told(row), column))
    return "".join(made)


def _rows(rows: list[tuple[str, str]], column: int) -> str:
    return "".join(_row(label, about, column) for label, about in rows)


def _column(table: CommandTable) -> int:
    """Where the texts begin: behind the longest label that is no longer than most."""
    labels = [row.spelled for row in table.options if isinstance(row, Option) and row.shown]
    labels += [row.spelled for row in table.arguments]
    labels += [*table.subcommands, HELP.spelled]
    return max(len(label) for label in labels if len(label) <= WIDEST_LABEL) + _INDENT + 2


def _row(label: str, about: str, column: int) -> str:
    lines = _filled(about, indent=column).splitlines(keepends=True)
    head = f"{'':<{_INDENT}}{label}"
    if len(head) + 2 > column:
        return f"{head}\n{''.join(lines)}"
    return f"{head:<{column}}{lines[0].lstrip(' ')}{''.join(lines[1:])}"


def _filled(text: str, *, indent: int = 0, joint: str = " ") -> str:
    """The text in lines that fit the screen, each ended."""
    margin = " " * indent
    lines: list[str] = []
    for word in text.split(joint):
        if lines and len(lines[-1]) + len(joint) + len(word) <= WIDTH:
            lines[-1] += f"{joint}{word}"
        else:
            lines.append(f"{margin}{word}")
    return "".join(f"{line}\n" for line in lines)
