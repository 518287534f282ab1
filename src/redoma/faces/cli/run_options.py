"""The command line of `redoma run` and `redoma shell`, read strictly."""

from __future__ import annotations

import os

from redoma.model.errors import UsageError

RUN = """\
usage: redoma run [OPTION]... 'COMMAND'
       redoma run [OPTION]... -- PROGRAM [ARGUMENT]...
       redoma shell [OPTION]...

Runs a shell command, or a program without a shell, inside an enclosure. The workspace is the
current directory; the command can write there and nowhere else.

"""
SHELL = """\
usage: redoma shell [OPTION]...

Opens a shell inside an enclosure. The workspace is the current directory; what is done in the
shell can write there and nowhere else.

"""
OPTIONS = """\
where:
  --workspace DIR      the directory the command works in
  --level LEVEL        minimal, standard (default), strict or maximum
  --profile FILE       a profile of your own instead of a level
  --engine NAME        one engine: warm, bubblewrap, systemd, unshare, landlock, direct
what it may touch:
  --allow-write PATH   also writable (may be repeated); lifts the protection of that path
  --allow-read PATH    also readable (may be repeated)
  --allow-host HOST    a host that may be reached: HOST, HOST:PORT, *.example.com, localhost:PORT
                       (may be repeated)
                       GET HOST/PATH/** (with --inspect): such requests only
  --inspect            reads each request, in TLS as well, and notes its method, path and status
  --credential HOST=NAME
                       adds the secret in a variable of yours to requests to that host, which the
                       command never sees; HOST=vault:NAME takes it from `redoma vault`
  --cache-host HOST    keeps what this host answers, and asks it for the same every 30 s at most
  --mock[=FILE]        answers every request itself, so that nothing leaves; with what FILE says
  --publish PORT       makes a port of the command's own reachable on this machine's loopback
  --env NAME[=VALUE]   passes a variable (may be repeated)
how much it may use (a size as 512M, a time as 90s; none for no limit):
  --timeout TIME  --memory SIZE  --cpu PERCENT  --cpu-time SECONDS  --processes NUMBER
  --open-files NUMBER  --file-size SIZE  --total-written SIZE  --tmp SIZE  --output SIZE
what becomes of what it writes (in standard it is held, applied when the command succeeds, and
can be taken back: redoma undo):
  --direct             writes straight into the workspace, for servers and what a layer cannot do
who is asked, where the policy wants that:
  --ask HOW            auto (default): you, if this is a terminal; else the question is kept for
                       `redoma answer`, and the command can be run again when it is approved.
                       wait: waits for `redoma answer`. nobody: a question is a no
  --phase NAME         the phase of a workflow this belongs to; policies can hold it tighter
  --session NAME       the session this belongs to (default: $REDOMA_SESSION, or this terminal)
how it is shown:
  -t, --tty            gives the command a terminal
  --json               one JSON object at the end instead of the command's own output
  --trace-files        notes which files the command opens (slower); in --json, or at the end
  -q, --quiet          no line about what was enforced

The command is judged first, by your policy (redoma policy explain 'COMMAND'), and everything is
written down (redoma audit list).

exit status: the command's own; 124 timed out, 125 Redoma could not do its work, 126 refused or
not executable, 127 not found, 2 usage
"""

_FLAGS = {
    "-t": "tty",
    "--tty": "tty",
    "--json": "json",
    "--direct": "direct",
    "--inspect": "inspect",
    "--mock": "mock",
    "--trace-files": "trace-files",
    "-q": "quiet",
    "--quiet": "quiet",
    "-h": "help",
    "--help": "help",
}
_ONE = (
    "--mock",
    "--workspace",
    "--level",
    "--profile",
    "--engine",
    "--ask",
    "--phase",
    "--session",
)
_MANY = (
    "--allow-write",
    "--allow-read",
    "--allow-host",
    "--cache-host",
    "--credential",
    "--publish",
    "--env",
)
_LIMITS = {
    "--timeout": "wall_seconds",
    "--memory": "memory",
    "--cpu": "cpu_percent",
    "--cpu-time": "cpu_seconds",
    "--processes": "processes",
    "--open-files": "open_files",
    "--file-size": "file_size",
    "--total-written": "total_written",
    "--tmp": "temporary",
    "--output": "output",
}


class RunOptions:
    """What a command line asked for."""

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.one: dict[str, str] = {}
        self.many: dict[str, list[str]] = {name: [] for name in _MANY}
        self.limits: dict[str, int | float | None] = {}
        self.command: str | list[str] = ""

    def published(self) -> list[int]:
        """The ports to publish."""
        made = []
        for given in self.many["--publish"]:
            if not (given.isascii() and given.isdigit()):
                raise UsageError(f"--publish: {given!r} is no port", hint="--publish 8000")
            made.append(int(given[:6]))
        return made

    def environment(self) -> dict[str, str]:
        """The variables to pass; a bare name takes the caller's value."""
        made = {}
        for given in self.many["--env"]:
            name, equals, value = given.partition("=")
            if not name:
                raise UsageError(f"--env: {given!r} has no name")
            if not equals:
                if name not in os.environ:
                    raise UsageError(f"--env: {name} is not set here", hint=f"--env {name}=VALUE")
                value = os.environ[name]
            made[name] = value
        return made


def read(arguments: list[str]) -> RunOptions:
    """Options, then one shell command, or `--` and a program."""
    found = RunOptions()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            if not rest:
                raise UsageError("no program after --", hint="redoma run -- PROGRAM ARGUMENT...")
            found.command = rest
            return found
        if argument in _FLAGS:
            found.flags.add(_FLAGS[argument])
        elif argument.startswith("-") and argument != "-":
            _option(found, argument, rest)
        else:
            if rest:
                raise UsageError(
                    f"more than one command: {argument!r} and {rest[0]!r}",
                    hint="quote a shell command, or write -- before a program",
                )
            found.command = argument
    return found


def _option(found: RunOptions, argument: str, rest: list[str]) -> None:
    name, equals, value = argument.partition("=")
    if name not in _ONE and name not in _MANY and name not in _LIMITS:
        from redoma.faces.cli.options import nearest

        known = [*_FLAGS, *_ONE, *_MANY, *_LIMITS]
        raise UsageError(f"unknown option {name}", hint=nearest(name, known) or "redoma run --help")
    if not equals:
        if not rest:
            raise UsageError(f"{name} needs a value", hint="redoma run --help")
        value = rest.pop(0)
    if name in _MANY:
        found.many[name].append(value)
    elif name in _LIMITS:
        from redoma.flow.limits import read_limit

        limit = _LIMITS[name]
        try:
            found.limits[limit] = read_limit(limit, value)
        except UsageError as error:
            said = str(error).removeprefix(f"{limit}: ")
            raise UsageError(f"{name}: {said}", hint=error.hint) from None
    elif found.one.get(name, value) != value:
        raise UsageError(f"{name} is given twice")
    else:
        found.one[name] = value
