"""`redoma man`: the manual page, made from the tables."""

from __future__ import annotations

import sys

from redoma.cli import COMMANDS, load
from redoma.cli.help import lent_options, told, usage_lines
from redoma.cli.options import HELP, Argument, CommandTable, Heading, Sample
from redoma.i18n import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.cli.options import CommandLine

MAN = CommandTable(
    "man",
    "Prints the manual page: every command with its options, for man and for groff.",
    usage=("",),
    samples=(Sample("redoma man", "to read it: redoma man | man -l -"),),
)
ENVIRONMENT = (
    Argument("REDOMA_LANGUAGE", "the language in which people are spoken to: en or pt-BR"),
    Argument("REDOMA_SESSION", "the session that a run belongs to"),
    Argument("REDOMA_PAGER, PAGER", "what shows long output page by page"),
    Argument("REDOMA_AUDIT_KEY, REDOMA_VAULT_KEY", "file, or keychain: where the key is kept"),
    Argument("NO_COLOR", "no colours, whatever the terminal can do"),
)


@MAN.main
def main(_line: CommandLine) -> int:
    """Prints the page."""
    sys.stdout.writelines(f"{line}\n" for line in page())
    return 0


def page() -> Iterator[str]:
    """The manual page, line by line, in roff."""
    from redoma import __version__

    yield f'.TH REDOMA 1 "" "redoma {__version__}"'
    yield ".SH NAME"
    about = phrased("stands between an AI agent and the machine")
    yield f"redoma \\- {_escaped(about)}"
    yield ".SH SYNOPSIS"
    yield ".B redoma\n.I COMMAND\n[\\fIARGUMENT\\fR]..."
    yield ".SH COMMANDS"
    for name, (_, said) in COMMANDS.items():
        table = load(name)
        yield f".SS redoma {name}"
        yield _line(phrased(said))
        yield from (f".br\n.B {_escaped(usage)}" for usage in usage_lines(table))
        yield from (f".PP\n{_line(phrased(paragraph))}" for paragraph in table.about)
        yield from _rows(table)
        yield from (f".PP\n{_line(phrased(paragraph))}" for paragraph in table.notes)
        for sample in table.samples:
            yield f".PP\n{_line(phrased(sample.about))}\n.RS\n.nf\n{_line(sample.line)}\n.fi\n.RE"
        if table.status:
            yield f".PP\n{_line(phrased('exit status: {0}', phrased(table.status)))}"
    yield ".SH ENVIRONMENT"
    yield from (_row(row.spelled, told(row)) for row in ENVIRONMENT)


def _rows(table: CommandTable) -> Iterator[str]:
    yield from (_row(row.spelled, told(row)) for row in table.arguments)
    yield from (_row(row.name, phrased(row.about)) for row in table.subcommands.values())
    for row in (*table.options, HELP):
        if isinstance(row, Heading):
            yield f".PP\n{_line(phrased(row.about))}:"
        elif row.shown:
            yield _row(row.spelled, told(row))
    lent = lent_options(table)
    if lent:
        title = phrased("options of `redoma run`, with the same meaning:")
        yield f".PP\n{_line(title)}\n.br\n{_line(', '.join(lent))}"


def _row(label: str, about: str) -> str:
    return f".TP\n.B {_escaped(label)}\n{_line(about)}"


def _line(text: str) -> str:
    """A line of text: nothing at its beginning is taken for a request."""
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")
