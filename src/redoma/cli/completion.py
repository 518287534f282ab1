"""`redoma completion`: scripts that complete this command line, made from the tables.

`redoma man`: the manual page, made from the tables.
"""

from __future__ import annotations

import sys

from redoma.cli import COMMANDS, load
from redoma.cli.help import choices, lent_options, told, usage_lines
from redoma.cli.options import HELP, Argument, CommandTable, Heading, Sample
from redoma.i18n import languages, phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.cli.options import CommandLine, Option


COMPLETION = CommandTable(
    "completion",
    "Prints a script by which a shell completes commands, options and their values.",
    samples=(
        Sample("redoma completion bash", "for bash: source <(redoma completion bash)"),
        Sample("redoma completion zsh", "for zsh: a file _redoma in a directory of $fpath"),
        Sample("redoma completion fish", "for fish: ~/.config/fish/completions/redoma.fish"),
    ),
)
_DIRECTORIES = ("DIR",)
_FILES = ("FILE", "PATH")
_FLAGS = ("-h", "--help", "-V", "--version", "-v", "-vv", "--verbose", "--language")


@COMPLETION.subcommand("bash", "", "for bash 4 or later")
def _bash(_line: CommandLine) -> int:
    cases = []
    for name, table in tables():
        values = [
            f"            {'|'.join(row.names)}) {_bash_value(row)} ;;\n"
            for row in table.offered()
            if row.takes.startswith(" ")
        ]
        options = " ".join(name for row in table.offered() for name in row.names)
        cases.append(
            f"    {name})\n"
            + (f"        case $before in\n{''.join(values)}        esac\n" if values else "")
            + f"        options='{options}'\n"
            + f"        words='{' '.join(_words(table))}'\n        ;;\n"
        )
    sys.stdout.write(
        _BASH.replace("@CASES@", "".join(cases))
        .replace("@COMMANDS@", " ".join(("help", *COMMANDS)))
        .replace("@FLAGS@", " ".join(_FLAGS))
        .replace("@LANGUAGES@", " ".join(languages()))
    )
    return 0


@COMPLETION.subcommand("zsh", "", "for zsh")
def _zsh(_line: CommandLine) -> int:
    cases = []
    for name, table in tables():
        rows = [_zsh_row(row, name) for row in table.offered() for name in row.names]
        words = " ".join(_words(table))
        rows += [f"'1:command:({words})'"] if words else []
        rows.append("'*:file:_files'")
        cases.append(f"    {name}) _arguments -S {' '.join(rows)} ;;\n")
    described = " ".join(
        _quoted(f"{name}:{phrased(about)}") for name, (_, about) in COMMANDS.items()
    )
    sys.stdout.write(
        "#compdef redoma\n\n_redoma() {\n"
        f"  local -a commands=({described})\n"
        "  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
        "  shift words\n  (( CURRENT-- ))\n  case $words[1] in\n"
        f'{"".join(cases)}  esac\n}}\n\n_redoma "$@"\n'
    )
    return 0


@COMPLETION.subcommand("fish", "", "for fish")
def _fish(_line: CommandLine) -> int:
    lines = ["complete -c redoma -f"]
    for name, (_, about) in COMMANDS.items():
        said = _fish_quoted(phrased(about))
        lines.append(f"complete -c redoma -n __fish_use_subcommand -a {name} -d {said}")
    for name, table in tables():
        here = f"complete -c redoma -n '__fish_seen_subcommand_from {name}'"
        for row in table.subcommands.values():
            lines.append(f"{here} -a {row.name} -d {_fish_quoted(phrased(row.about))}")
        lines += [f"{here} {_fish_row(row)}" for row in table.offered()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def tables() -> list[tuple[str, CommandTable]]:
    """Every command's table, by its name."""
    return [(name, load(name)) for name in COMMANDS]


def _words(table: CommandTable) -> list[str]:
    """The words that may follow a command: subcommands, and names that stand for an argument."""
    named = [
        word for row in table.arguments if "|" in row.spelled for word in row.spelled.split("|")
    ]
    return [*table.subcommands, *named]


def _bash_value(row: Option) -> str:
    if row.choices:
        return f"_redoma_words '{' '.join(choices(row))}'; return"
    if _value(row) in _DIRECTORIES:
        return "_redoma_paths -d; return"
    if _value(row) in _FILES:
        return "_redoma_paths -f; return"
    return "return"


def _value(row: Option) -> str:
    return row.takes.strip(" [=]").partition("[")[0]


def _zsh_row(row: Option, name: str) -> str:
    about = told(row).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    many = "*" if row.many else ""
    if not row.takes:
        return _quoted(f"{many}{name}[{about.replace(':', chr(92) + ':')}]")
    kind = f"({' '.join(choices(row))})" if row.choices else " "
    kind = "_files -/" if _value(row) in _DIRECTORIES else kind
    kind = "_files" if _value(row) in _FILES else kind
    equals = "=-" if row.takes.startswith("[") else "="
    perhaps = "::" if row.takes.startswith("[") else ":"
    escaped = about.replace(":", "\\:")
    return _quoted(f"{many}{name}{equals}[{escaped}]{perhaps}{_value(row)}:{kind}")


def _fish_row(row: Option) -> str:
    short = "".join(f"-s {name[1:]} " for name in row.names if not name.startswith("--"))
    text = f"{short}-l {row.name[2:]} -d {_fish_quoted(told(row))}"
    if not row.takes.startswith(" "):
        return text
    if row.choices:
        return f"{text} -x -a {_fish_quoted(' '.join(choices(row)))}"
    return f"{text} -r -F" if _value(row) in (*_FILES, *_DIRECTORIES) else f"{text} -x"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_BASH = """\
# Completes redoma's commands, options and values in bash.
_redoma_words() { COMPREPLY=($(compgen -W "$1" -- "$word")); }
_redoma_paths() { compopt -o filenames; COMPREPLY=($(compgen "$1" -- "$word")); }

_redoma() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command='' options='' words='' given=0 at
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in
        --) _redoma_paths -f; return ;;
        --language) [ -n "$command" ] || ((at++)) ;;
        -*) ;;
        *) if [ -z "$command" ]; then command=${COMP_WORDS[at]}; else ((given++)); fi ;;
        esac
    done
    [ "$before" = --language ] && { _redoma_words '@LANGUAGES@'; return; }
    case $command in
    '') _redoma_words '@COMMANDS@ @FLAGS@'; return ;;
    help) _redoma_words '@COMMANDS@'; return ;;
@CASES@    esac
    case $word in
    -*) _redoma_words "$options" ;;
    *) if ((given)) || [ -z "$words" ]; then _redoma_paths -f; else _redoma_words "$words"; fi ;;
    esac
}
complete -F _redoma redoma
"""


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
