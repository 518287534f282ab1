"""`redoma mcp`: the server on standard streams or over HTTP, and its place in clients' settings."""

from __future__ import annotations

import os
import sys

from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample, nearest
from redoma.cli.run_options import RUN_OPTIONS, sandbox_arguments
from redoma.i18n import phrased
from redoma.model.errors import RedomaError, UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.hook.settings_change import SettingsChange

_PLACED = "install uninstall"
CLIENT_NAMES = "claude-code codex gemini cursor vscode"
MCP = CommandTable(
    "mcp",
    "An MCP server: an agent's check, run, preview, apply, undo, history and confirm walk the same"
    " path as this command line. It speaks on standard input and output, or over HTTP on loopback"
    " to whoever has the token that it prints.",
    usage=("serve [OPTION]...", f"install|uninstall {CLIENT_NAMES.replace(' ', '|')}"),
    arguments=(Argument("CLIENT", "the client whose settings are meant"),),
    options=(
        Heading("of serve, and of install, which writes them down"),
        Option(
            "--workspace DIR",
            "a directory that the agent may work in (default: the client's roots, or this one)",
            many=True,
        ),
        Option("--http PORT", "over HTTP on this port of loopback instead; 0 for any", of="serve"),
        Heading("of install and uninstall"),
        Option("--user", "the settings of this user, for every project (default)", of=_PLACED),
        Option("--project", "the settings of the project in this directory", of=_PLACED),
        Option("--dry-run", "shows the change and writes nothing", of=_PLACED),
        Option("--json", "one JSON object instead of prose", of=_PLACED),
    ),
    borrowed=RUN_OPTIONS,
    without="--ask --tty --quiet --trace-files --phase --publish",
    notes=(
        "Where the policy wants a confirmation, the person behind the client is asked, if the"
        " client can ask; else the question waits for `redoma answer`.",
    ),
    usual="serve",
    samples=(
        Sample("redoma mcp install claude-code --project --dry-run", "what would be written"),
    ),
)


def _server(line: CommandLine) -> object:
    try:
        from redoma.mcp.server import server
    except ModuleNotFoundError as error:
        raise RedomaError(
            "the MCP server needs {module}", module=error.name, hint="pip install 'redoma[mcp]'"
        ) from error
    from redoma.base.identity import short_id
    from redoma.mcp.workspaces import Workspaces
    from redoma.pipeline.requests import Caller
    from redoma.pipeline.sandbox import Sandbox

    places = line.many.pop("--workspace", [])
    _, how = sandbox_arguments(line)
    how.pop("ask", None)
    session = os.environ.get("REDOMA_SESSION") or f"mcp:{short_id()}"
    how["caller"] = Caller(name="mcp", session=session)
    for place in places or ["."]:
        Sandbox(place, **how)  # what cannot be used is said now, not at the first call
    return server(Workspaces(places), **how)


@MCP.subcommand("serve", "[OPTION]...", "answers a client until it goes")
def _serve(line: CommandLine) -> int:
    made = _server(line)
    if "--http" not in line.values and os.isatty(0):
        sys.stderr.write(
            phrased(
                Message(
                    "redoma: waiting for an MCP client on standard input\nhint: {command}\n",
                    command=MCP.hint,
                )
            )
        )
    if "--http" not in line.values:
        made.run("stdio")  # type: ignore[attr-defined]
        return 0
    from redoma.mcp.http import serve

    return serve(made, _port(line.values["--http"]))


def _port(given: str) -> int:
    if not (given.isascii() and given.isdigit() and int(given[:6]) < 1 << 16):
        raise UsageError("--http: {given} is no port", given=repr(given), hint="--http 8765")
    return int(given)


@MCP.subcommand(
    "install",
    "CLIENT [--user|--project] [--dry-run] [--json] [OPTION]...",
    "writes the server into the client's settings and keeps everything that is there",
    most=None,
)
def _install(line: CommandLine) -> int:
    from redoma.mcp.client_settings import install

    name, scope = _client(line), _scope(line)
    options = _written_down(line)
    return _carry_out(line, name, install(name, scope, options))


@MCP.subcommand(
    "uninstall",
    "CLIENT [--user|--project] [--dry-run] [--json]",
    "takes exactly that out again",
    most=None,
)
def _uninstall(line: CommandLine) -> int:
    from redoma.mcp.client_settings import uninstall

    name = _client(line)
    return _carry_out(line, name, uninstall(name, _scope(line)))


def _carry_out(line: CommandLine, name: str, change: SettingsChange) -> int:
    from redoma.hook.install import report_change
    from redoma.hook.settings_change import carry_out
    from redoma.mcp.client_settings import CLIENTS

    if "--dry-run" not in line.flags:
        carry_out(change)
    done = report_change(change, line.flags, notes=[])
    if line.json:
        import json

        sys.stdout.write(json.dumps({"client": name, **done}) + "\n")
    elif not change.changed:
        title, file = CLIENTS[name].title, change.kept.real
        told = Message("{client}: already installed in {file}\n", client=title, file=file)
        if line.verb == "uninstall":
            told = Message("{client}: not installed in {file}\n", client=title, file=file)
        sys.stdout.write(phrased(told))
    return 0


def _client(line: CommandLine) -> str:
    from redoma.mcp.client_settings import CLIENTS

    if len(line.words) != 1:
        raise UsageError("name one client", hint=f"redoma mcp {line.verb} CLIENT")
    if line.words[0] not in CLIENTS:
        meant = nearest(line.words[0], list(CLIENTS))
        known = ", ".join(CLIENTS)
        hint = (
            Message("did you mean {name}?", name=meant)
            if meant
            else Message("clients: {names}", names=known)
        )
        raise UsageError("there is no client {name}", name=repr(line.words[0]), hint=hint)
    return line.words[0]


def _scope(line: CommandLine) -> str:
    if {"--user", "--project"} <= line.flags:
        raise UsageError("--user and --project exclude each other", hint=MCP.hint)
    return "project" if "--project" in line.flags else "user"


def _written_down(line: CommandLine) -> list[str]:
    """The options of the server, as they were given; each is tried before it is written."""
    own = {"--user", "--project", "--dry-run", "--json"}
    options = [flag for flag in sorted(line.flags) if flag not in own]
    for name, value in line.values.items():
        options += [name, value]
    for name, values in line.many.items():
        for value in values:
            options += [name, os.path.abspath(value) if name == "--workspace" else value]
    sandbox_arguments(line)
    return options
