"""The `redoma` command line: finds the command, loads only its module, turns errors into prose.

A command is a table of rows that knows what carries it out, listed in `COMMANDS`. Data goes to
standard output, prose to standard error. Exit status: what the command says; 2 where the command
line cannot be understood; 125 where Redoma could not do its work.
"""

from __future__ import annotations

import sys

from redoma.i18n import phrased
from redoma.i18n.choice import for_a_person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from redoma.cli.options import CommandTable
    from redoma.model.errors import RedomaError

# Where each command's table stands, and what it does in a line.
COMMANDS: dict[str, tuple[str, str]] = {
    "allow": ("redoma.cli.grants:ALLOW", "grant a host, a path or a variable, once or for good"),
    "answer": ("redoma.cli.questions:ANSWER", "answer a question that waits"),
    "apply": ("redoma.cli.apply:APPLY", "make held changes real, all or some of them"),
    "approvals": ("redoma.cli.questions:APPROVALS", "what is approved for longer than one run"),
    "audit": ("redoma.cli.audit:AUDIT", "what happened, and whether anybody changed it"),
    "check": ("redoma.cli.check:CHECK", "judge a command: level, decision, reasons"),
    "completion": ("redoma.cli.completion:COMPLETION", "a shell's completion of this command line"),
    "discard": ("redoma.cli.undo:DISCARD", "let held changes go"),
    "doctor": ("redoma.cli.doctor:DOCTOR", "what this machine can enforce, and what is missing"),
    "explain": ("redoma.cli.explain:EXPLAIN", "what held in a run, and what became of it"),
    "fleet": ("redoma.fleet.command:FLEET", "run a file of items over a cluster of Ray"),
    "gc": ("redoma.cli.history:GC", "free what is kept for undo beyond its bounds"),
    "history": ("redoma.cli.history:HISTORY", "what was previewed, applied and undone"),
    "hook": ("redoma.hook:HOOK", "answer an agent's hook; install, uninstall, status"),
    "man": ("redoma.cli.completion:MAN", "the manual page"),
    "mcp": ("redoma.mcp.command:MCP", "an MCP server for agents; install, uninstall"),
    "network": ("redoma.cli.network:NETWORK", "learn which hosts a command needs"),
    "pending": ("redoma.cli.questions:PENDING", "the questions that wait for a person"),
    "plan": ("redoma.cli.plans:PLAN", "check, preview and run a plan of several steps"),
    "policy": ("redoma.cli.policies:POLICY", "init, lint, test, explain and show policies"),
    "preview": ("redoma.cli.preview:PREVIEW", "show what a command would change"),
    "redact": ("redoma.cli.redact:REDACT", "take secrets out of what passes through"),
    "run": ("redoma.cli.run:RUN", "run a command inside a sandbox"),
    "serve": ("redoma.server.serve_command:SERVE", "the console in the browser; shared terminals"),
    "session": ("redoma.server.session_command:SESSION", "start, share and end a shared terminal"),
    "shell": ("redoma.cli.run:SHELL", "an interactive shell inside a sandbox"),
    "session-report": ("redoma.cli.session_report:REPORT", "what an agent did in a session"),
    "trust": ("redoma.cli.grants:TRUST", "what a project asks for, and your yes to it"),
    "undo": ("redoma.cli.undo:UNDO", "take back what was applied"),
    "login": ("redoma.cli.login:LOGIN", "logs you in at a provider, for tokens that are kept"),
    "logout": ("redoma.cli.login:LOGOUT", "forgets a login and its tokens"),
    "wrap": ("redoma.cli.wrap:WRAP", "a whole agent, or any program, in the jail"),
    "vault": ("redoma.cli.vault:VAULT", "secrets that the egress gate adds to requests"),
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
        from redoma.base.text import harmless

        what = f"{type(error).__name__}: {harmless(str(error))}"
        say(phrased("redoma: could not do its work: {0}", what))
        return COULD_NOT_WORK


def _dispatch(argv: list[str]) -> int:
    name, *rest = argv or [""]
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    if name in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        return 0
    if name in ("-V", "--version", "version"):
        from redoma import __version__

        if rest == ["--json"]:
            said = ".".join(map(str, sys.version_info[:3]))
            sys.stdout.write(f'{{"version": "{__version__}", "python": "{said}"}}\n')
            return 0
        if rest:
            from redoma.model.errors import UsageError

            raise UsageError(f"{name} takes no {rest[0]!r}", hint="redoma version --json")
        sys.stdout.write(f"redoma {__version__}\n")
        return 0
    if name in COMMANDS:
        return load(name)(rest)
    from redoma.cli.options import nearest
    from redoma.model.errors import UsageError

    if not name:
        sys.stderr.write(overview())
        return 2
    meant = nearest(name, list(COMMANDS))
    raise UsageError(
        f"there is no command {name!r}", hint=f"redoma {meant}" if meant else "redoma --help"
    )


def load(name: str) -> CommandTable:
    """The table of a command, its module imported now."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found: CommandTable = getattr(__import__(module, fromlist=[attribute]), attribute)
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
        "  -h, --help       this text; `redoma help COMMAND` for one command\n"
        "  -V, --version    the version; with --json for programs\n"
        "  -v, -vv          before the command: what Redoma does, or that in detail\n"
        "  --language NAME  en or pt-BR, before or after the command\n",
        rows,
    )


def complain(error: RedomaError) -> int:
    """Writes what happened and what to do, and returns the status of this kind of error."""
    from redoma.base.text import harmless

    in_flags(error)
    said = f"redoma: {phrased(str(error))}"
    if error.hint:
        said += phrased("\nhint: {0}", phrased(error.hint))
    say("\n".join(map(harmless, said.split("\n"))))
    return error.exit_status


def in_flags(error: RedomaError) -> RedomaError:
    """The error with what would help as a command line says it."""
    if error.remedy is not None:
        from redoma.cli.remedies import in_options

        error.hint = in_options(error.remedy)
    return error


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
