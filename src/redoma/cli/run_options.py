"""The options of `redoma run`, which `shell`, `preview` and `plan` take too, and their sandbox."""

from __future__ import annotations

import os

from redoma.cli.options import ENGINES, LEVELS_OF_ISOLATION, Heading, Option
from redoma.model.errors import UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.cli.options import CommandLine
    from redoma.pipeline.sandbox import Sandbox

_LIMITS = "limits."
WHERE = (
    Heading("where"),
    Option("--workspace DIR", "the directory the command works in", feeds="workspace"),
    Option(
        "--level LEVEL",
        "how tightly it is held, standard by default",
        choices=LEVELS_OF_ISOLATION,
        feeds="level",
    ),
    Option("--profile FILE", "a profile of your own instead of a level", feeds="level"),
    Option(
        "--engine NAME",
        "one engine, where the choice is not left to Redoma",
        choices=ENGINES,
        feeds="engine",
    ),
)
TOUCHES = (
    Heading("what it may touch"),
    Option(
        "--allow-write PATH",
        "also writable; lifts the protection of that path",
        many=True,
        feeds="access.write",
    ),
    Option("--allow-read PATH", "also readable", many=True, feeds="access.read"),
    Option(
        "--allow-host HOST",
        "a host that may be reached: HOST, HOST:PORT, *.example.com, localhost:PORT, or with"
        " --inspect only such requests: GET HOST/PATH/**",
        many=True,
        feeds="network.hosts",
    ),
    Option(
        "--inspect",
        "reads each request, in TLS as well, and notes its method, path and status",
        feeds="network.inspect",
    ),
    Option(
        "--credential HOST=NAME",
        "adds the secret in a variable of yours to requests to that host, which the command never"
        " sees; HOST=vault:NAME takes it from `redoma vault`, HOST=login:NAME from `redoma login`",
        many=True,
        feeds="network.credentials",
    ),
    Option(
        "--cache-host HOST",
        "keeps what this host answers, and asks it for the same every 30 s at most",
        many=True,
        feeds="network.cache",
    ),
    Option(
        "--mock[=FILE]",
        "answers every request itself, so that nothing leaves; with what FILE says",
        feeds="network.mock",
    ),
    Option(
        "--publish PORT",
        "makes a port of the command's own reachable on this machine's loopback",
        many=True,
        feeds="network.publish",
    ),
    Option("--env NAME[=VALUE]", "passes a variable", many=True, feeds="access.env"),
    Option(
        "--secret NAME[=PLACE]",
        "gives a secret of `redoma vault` to the command itself, once you have confirmed it: in"
        " the variable NAME, in the variable PLACE, or in the file /run/secrets/…, which is never"
        " on a disk; what the command prints of it is taken out",
        many=True,
        feeds="access.secrets",
    ),
)
USES = (
    Heading("how much it may use (a size as 512M, a time as 90s; none for no limit)"),
    Option("--timeout TIME", "how long it may run", feeds="limits.wall_seconds"),
    Option("--memory SIZE", "memory of all its processes together", feeds="limits.memory"),
    Option("--cpu PERCENT", "share of the processor; 200 is two", feeds="limits.cpu_percent"),
    Option("--cpu-time SECONDS", "processor time of all its processes", feeds="limits.cpu_seconds"),
    Option("--processes NUMBER", "processes and threads at a time", feeds="limits.processes"),
    Option("--open-files NUMBER", "files that a process has open", feeds="limits.open_files"),
    Option("--file-size SIZE", "the size of one file", feeds="limits.file_size"),
    Option("--total-written SIZE", "what it writes in all", feeds="limits.total_written"),
    Option("--keep-free SIZE", "room that stays free on the disk", feeds="limits.keep_free"),
    Option("--tmp SIZE", "what lies in its /tmp", feeds="limits.temporary"),
    Option(
        "--changes NUMBER",
        "changed paths up to which they are applied by themselves",
        feeds="limits.changes",
    ),
    Option("--depth NUMBER", "how deep below the workspace those may lie", feeds="limits.depth"),
    Option("--output SIZE", "what is kept of each stream that it prints", feeds="limits.output"),
    Option("--output-total SIZE", "what it prints in all", feeds="limits.output_total"),
)
WRITES = (
    Heading(
        "what becomes of what it writes (in standard it is held, applied when the command has"
        " ended, and can be taken back: redoma undo)"
    ),
    Option(
        "--apply WHEN",
        "when it becomes real. on-end (default): the command came to an end of its own, whatever"
        " its status; what a limit or a timeout cut short is held. on-success: it ended with"
        " status 0. always: however it ended. ask: you are asked first. never: it is held for"
        " `redoma apply`",
        choices="always on-end on-success ask never",
        feeds="access.apply",
    ),
    Option(
        "--no-undo",
        "keeps nothing to take it back: it is applied for good, and room is free",
        feeds="access.undo",
    ),
    Option(
        "--direct",
        "writes straight into the workspace, for servers and what an overlay cannot do",
        feeds="access.direct",
    ),
)
ASKS = (
    Heading("who is asked, where the policy wants that"),
    Option(
        "--ask HOW",
        "auto (default): you, if this is a terminal; else the question is kept for `redoma answer`,"
        " and the command can be run again when it is approved. wait: waits for `redoma answer`."
        " nobody: a question is a no",
        choices="auto wait nobody",
        feeds="ask",
    ),
    Option(
        "--phase NAME",
        "the phase of a workflow this belongs to; policies can hold it tighter",
        feeds="caller.phase",
    ),
    Option(
        "--session NAME",
        "the session this belongs to (default: $REDOMA_SESSION, or this terminal)",
        feeds="caller.session",
    ),
)
SHOWN = (
    Heading("how it is shown"),
    Option(
        "-t, --tty",
        "gives the command a terminal; it gets one anyway where input, output and errors are one",
    ),
    Option("--no-tty", "gives it none, so that colours pass and nothing else acts on the screen"),
    Option("--json", "one JSON object at the end instead of the command's own output"),
    Option(
        "--trace-files", "notes which files the command opens (slower); in --json, or at the end"
    ),
    Option("-q, --quiet", "no closing line where it ended well"),
    Option("-v, --verbose", "the closing lines say what was enforced, too"),
)
RUN_OPTIONS = (*WHERE, *TOUCHES, *USES, *WRITES, *ASKS, *SHOWN)
LIMITS = {
    row.name: row.feeds[len(_LIMITS) :]
    for row in USES
    if isinstance(row, Option) and row.feeds.startswith(_LIMITS)
}


def sandbox_for(line: CommandLine, **fixed: object) -> Sandbox:
    """The sandbox that a command line describes.

    `fixed` are arguments that no option says, as `network_any_host` or `policy`.
    """
    from redoma.pipeline.sandbox import Sandbox

    workspace, arguments = sandbox_arguments(line, **fixed)
    return Sandbox(workspace, **arguments)


def sandbox_here(line: CommandLine, **fixed: object) -> tuple[Sandbox, str]:
    """The sandbox of the project around this directory, and where in it a command starts.

    In a subdirectory of a repository the workspace is the whole of it, so that git works and a
    build finds its files; `--workspace` names another. Every policy down to here still holds.
    """
    from redoma.pipeline.this_host import project_root

    if "--workspace" in line.values:
        return sandbox_for(line, **fixed), ""
    here = os.path.realpath(".")
    root = project_root(here)
    if root == here:
        return sandbox_for(line, **fixed), ""
    from redoma.pipeline.settings import PolicyChoice

    line.values["--workspace"] = root
    sandbox = sandbox_for(line, policy=PolicyChoice(project=here), **fixed)
    return sandbox, here


def sandbox_arguments(line: CommandLine, **fixed: object) -> tuple[str, dict[str, Any]]:
    """The workspace, and what else a `Sandbox` is made with: each option feeds an argument."""
    from redoma.model.grant import Limits
    from redoma.pipeline.answerers import LocalAnswerer, forget_questions
    from redoma.pipeline.requests import Caller
    from redoma.pipeline.settings import Access, Network

    kinds: dict[str, Any] = {
        "access": Access,
        "network": Network,
        "limits": Limits,
        "caller": Caller,
    }

    if "--level" in line.values and "--profile" in line.values:
        raise UsageError("--level and --profile do not go together")
    forget_questions()
    # What a value of the sandbox is given, under the value's name; the rest under "".
    wanted: dict[str, dict[str, Any]] = {name: {} for name in ("", *kinds)}
    for row in RUN_OPTIONS:
        if not isinstance(row, Option) or not row.feeds:
            continue
        into, _, field = row.feeds.rpartition(".")
        if row.many:
            wanted[into][field] = line.every(row.name)
        elif row.name in line.flags:
            wanted[into][field] = row.name != "--no-undo"
        elif row.name in line.values and row.feeds.startswith(_LIMITS):
            wanted[into][field] = _limit(row, line.values[row.name])
        elif row.name == "--apply":
            if row.name in line.values:
                wanted[into][field] = line.values[row.name].replace("-", "_")
        elif row.name in line.values:
            wanted[into][field] = line.values[row.name]
    for name, value in fixed.items():
        into, _, field = name.partition("_")
        wanted[into if field else ""][field or name] = value
    own = wanted.pop("")
    profile = line.values.get("--profile", "")
    if profile and "/" not in profile:
        own["level"] = f"./{profile}"
    wanted["network"]["publish"] = [_port(given) for given in wanted["network"]["publish"]]
    wanted["access"]["env"] = dict(_variable(given) for given in wanted["access"]["env"])
    own["ask"] = LocalAnswerer(own.get("ask", "auto"))
    values = {name: kinds[name](**fields) for name, fields in wanted.items()}
    return own.pop("workspace", "."), {**own, **values}


def _limit(row: Option, value: str) -> int | float:
    from redoma.pipeline.settings import NO_LIMIT
    from redoma.pipeline.this_host import read_limit

    limit = row.feeds[len(_LIMITS) :]
    try:
        found = read_limit(limit, value)
        return NO_LIMIT if found is None else found
    except UsageError as error:
        said = Message(str(error))  # the same message, of the option by which it was given
        values = {**said.values, "name": row.name}
        raise UsageError(Message(said.id, **values), hint=error.hint) from None


def _port(given: str) -> int:
    if not (given.isascii() and given.isdigit()):
        raise UsageError(f"--publish: {given!r} is no port", hint="--publish 8000")
    return int(given[:6])


def _variable(given: str) -> tuple[str, str]:
    """A variable to pass; a bare name takes the caller's value."""
    name, equals, value = given.partition("=")
    if not name:
        raise UsageError(f"--env: {given!r} has no name")
    if not equals:
        if name not in os.environ:
            raise UsageError(f"--env: {name} is not set here", hint=f"--env {name}=VALUE")
        value = os.environ[name]
    return name, value
