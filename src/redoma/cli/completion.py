"""`redoma completion`: scripts that complete this command line, made from the tables."""

from __future__ import annotations

import sys

from redoma.cli import COMMANDS, load
from redoma.cli.help import choices, told
from redoma.cli.options import CommandTable, Sample
from redoma.i18n import languages, phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
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
