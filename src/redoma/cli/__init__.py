"""The `redoma` command line: finds the command, loads only its module, turns errors into prose.

A command is one module with `main(arguments: list[str]) -> int`, listed in `COMMANDS`. Data goes
to standard output, prose to standard error. Exit status: what the command says; 2 where the
command line cannot be understood; 125 where Redoma could not do its work.
"""

from __future__ import annotations

import sys

from redoma.i18n import phrased
from redoma.i18n.choice import for_a_person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from redoma.model.errors import RedomaError

COMMANDS: dict[str, tuple[str, str]] = {
    "answer": ("redoma.cli.answer:main", "answer a question that waits"),
    "apply": ("redoma.cli.apply:main", "make held changes real, all or some of them"),
    "approvals": ("redoma.cli.approvals:main", "what is approved for longer than one run"),
    "audit": ("redoma.cli.audit:main", "what happened, and whether anybody changed it"),
    "check": ("redoma.cli.check:main", "judge a command: level, decision, reasons"),
    "discard": ("redoma.cli.discard:main", "let held changes go"),
    "doctor": (
        "redoma.cli.doctor:main",
        "what this machine can enforce, and what is missing",
    ),
    "gc": ("redoma.cli.gc:main", "free what is kept for undo beyond its bounds"),
    "history": ("redoma.cli.history:main", "what was previewed, applied and undone"),
    "hook": ("redoma.hook:main", "answer an agent's hook; install, uninstall, status"),
    "pending": ("redoma.cli.pending:main", "the questions that wait for a person"),
    "plan": ("redoma.cli.plan:main", "check, preview and run a plan of several steps"),
    "policy": ("redoma.cli.policy:main", "init, lint, test, explain and show policies"),
    "preview": ("redoma.cli.preview:main", "show what a command would change"),
    "redact": ("redoma.cli.redact:main", "take secrets out of what passes through"),
    "run": ("redoma.cli.run:main", "run a command inside an enclosure"),
    "shell": ("redoma.cli.shell:main", "an interactive shell inside an enclosure"),
    "undo": ("redoma.cli.undo:main", "take back what was applied"),
    "vault": ("redoma.cli.vault:main", "secrets that the gate adds to requests"),
}

INTERRUPTED = 130
_STOPPED = "stopped; redoma history says what became of it"
COULD_NOT_WORK = 125
READER_GONE = 141


def main(argv: list[str], language: str | None = None) -> int:
    """Runs one command and returns its exit status; nothing escapes as a traceback."""
    try:
        try:
            for_a_person(language)
            status = _dispatch(argv)
        finally:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has gone (`redoma … | head`): the status is that of a program which this ends.
        leave_alone(sys.stdout)
        return READER_GONE
    except KeyboardInterrupt as stop:
        number = getattr(stop, "number", 0)  # where it came when something was at work
        for said in stop.args or ((_STOPPED,) if number else ()):
            say(f"redoma: {phrased(str(said))}")
        return 128 + number if number else INTERRUPTED
    except Exception as error:
        from redoma.model.errors import RedomaError

        if isinstance(error, RedomaError):
            return complain(error)
        from redoma.model.display import harmless

        what = f"{type(error).__name__}: {harmless(str(error))}"
        say(phrased("redoma: could not do its work: {0}", what))
        return COULD_NOT_WORK


def _dispatch(argv: list[str]) -> int:
    name = argv[0] if argv else ""
    if name in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        return 0
    if name in ("-V", "--version"):
        from redoma import __version__

        sys.stdout.write(f"redoma {__version__}\n")
        return 0
    if name in COMMANDS:
        return load(name)(argv[1:])
    from redoma.cli.options import nearest
    from redoma.model.errors import UsageError

    if not name:
        raise UsageError("no command given", hint="redoma --help")
    meant = nearest(name, list(COMMANDS))
    raise UsageError(
        f"there is no command {name!r}", hint=f"redoma {meant}" if meant else "redoma --help"
    )


def load(name: str) -> Callable[[list[str]], int]:
    """The function behind a command, its module imported now."""
    module, _, function = COMMANDS[name][0].partition(":")
    found: Callable[[list[str]], int] = getattr(__import__(module, fromlist=[function]), function)
    return found


def overview() -> str:
    """What `redoma --help` prints."""
    longest = max(len(name) for name in COMMANDS)
    rows = "".join(
        f"  {name:<{longest}}  {phrased(about)}\n" for name, (_, about) in COMMANDS.items()
    )
    return phrased(
        "usage: redoma COMMAND [ARGUMENT]...\n\n"
        "Stands between an AI agent and the machine.\n\n"
        "commands:\n{0}\n"
        "options:\n"
        "  -h, --help       this text; `redoma COMMAND --help` for one command\n"
        "  -V, --version    the version\n"
        "  --language NAME  en or pt-BR, before or after the command\n",
        rows,
    )


def complain(error: RedomaError) -> int:
    """Writes what happened and what to do, and returns the status of this kind of error."""
    from redoma.model.display import harmless

    in_flags(error)
    said = f"redoma: {phrased(str(error))}"
    if error.hint:
        said += phrased("\nhint: {0}", phrased(error.hint))
    say("\n".join(map(harmless, said.split("\n"))))
    return error.exit_status


def in_flags(error: RedomaError) -> RedomaError:
    """The error with what would help as a command line says it."""
    if error.remedy is None:
        return error
    from redoma.model.remedies import Interface

    return error.speak(Interface.COMMAND_LINE)


def say(prose: str) -> None:
    """One message for a person, on standard error; nothing fails where nobody reads it."""
    if not prose:
        return
    try:
        sys.stderr.write(f"{prose}\n")
        sys.stderr.flush()
    except OSError:
        leave_alone(sys.stderr)


def leave_alone(stream: TextIO) -> None:
    """Has a stream that nobody reads lead nowhere, so that nothing fails again at the exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), stream.fileno())
