"""`redoma session`: the sessions of the running server, from another terminal."""

from __future__ import annotations

import json
import os
import sys

from redoma.base.text import harmless
from redoma.cli.options import ENGINES, Argument, CommandTable, Heading, Option, Sample
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.cli.options import CommandLine

SESSION = CommandTable(
    "session",
    "Terminals in the jail that are shared: a host starts one, guests come with a code, wait, are"
    " let in, watch, and type only where the host gives them that. `redoma serve` has to run.",
    arguments=(Argument("SESSION", "as `redoma session list` says it; the only one by default"),),
    options=(
        Heading("of start"),
        Option("--engine NAME", "one engine, as in redoma run", choices=ENGINES, of="start"),
        Option("--workspace DIR", "the directory it works in", of="start"),
        Option("--title TEXT", "what it is called", of="start"),
        Option("--share", "with a code for a guest", of="start"),
        Option("--record", "records it, without secrets and without what is typed", of="start"),
        Option("--record-input", "records what is typed as well; guests are told", of="start"),
        Option("--attach", "goes on as attach does", of="start"),
        Heading("all of them"),
        Option("--json", "one JSON object"),
    ),
    samples=(Sample("redoma session list", "says that no server runs", status=125),),
    usual="list",
    explains=True,
)


@SESSION.subcommand("start", "[OPTION]...", "opens a terminal in the jail")
def _start(line: CommandLine) -> int:
    from redoma.server.client import call

    columns, rows = _size()
    body: dict[str, object] = {
        "cwd": os.path.abspath(line.values.get("--workspace", ".")),
        "engine": line.values.get("--engine", ""),
        "title": line.values.get("--title", ""),
        "share": "--share" in line.flags,
        "record": "--record" in line.flags,
        "record_input": "--record-input" in line.flags,
        "cols": columns,
        "rows": rows,
    }
    made = call("POST", "/api/sessions", body)
    said = phrased(Message("started {id} in {place}\n", id=made["id"], place=made["cwd"]))
    if "invitation" in made:
        said += _invitation(made["invitation"])
    status = _say(line, made, said)
    return _attached(made["id"]) if "--attach" in line.flags else status


@SESSION.subcommand("list", "[--json]", "the sessions, and who is in them")
def _list(line: CommandLine) -> int:
    from redoma.server.client import call

    found = call("GET", "/api/sessions")
    lines = []
    for each in found["sessions"]:
        here = [g for g in each["guests"] if g["state"] in ("waiting", "admitted")]
        lines.append(f"{each['id']}  {each['state']:<7}  {harmless(each['title'])}")
        lines += [
            f"    {harmless(g['name'])}  {g['state']}  {g['permission']}  {harmless(g['origin'])}"
            for g in here
        ]
    if not lines and not line.json:
        sys.stderr.write(phrased("there are no sessions\n"))
        return 0
    return _say(line, found, "".join(f"{each}\n" for each in lines))


@SESSION.subcommand("code", "[--json] [SESSION]", "a new code for a guest", most=1)
def _code(line: CommandLine) -> int:
    from redoma.server.client import call

    made = call("POST", f"/api/sessions/{_named(line)}/code", {})
    return _say(line, made, _invitation(made))


@SESSION.subcommand("link", "[--json]", "a new link that logs you in at the console")
def _link(line: CommandLine) -> int:
    from redoma.server.client import call

    made = call("POST", "/api/login-link", {})
    return _say(line, made, f"{made['link']}\n")


@SESSION.subcommand(
    "attach", "[SESSION]", "this terminal becomes the host's; Ctrl-] leaves", most=1
)
def _attach(line: CommandLine) -> int:
    return _attached(_named(line))


@SESSION.subcommand("end", "[--json] [SESSION]", "ends it for everybody", most=1)
def _end(line: CommandLine) -> int:
    from redoma.server.client import call

    made = call("DELETE", f"/api/sessions/{_named(line)}")
    said = phrased(Message("ended {id}\n", id=made["id"]))
    said += "".join(f"{phrased(note)}\n" for note in made.get("notes", []))
    return _say(line, made, said)


def _named(line: CommandLine) -> str:
    """The session that is meant: the one named, or the only one that runs."""
    from redoma.server.client import call

    if line.words:
        return _plain(line.words[0])
    running = [s for s in call("GET", "/api/sessions")["sessions"] if s["state"] != "ended"]
    if len(running) != 1:
        raise UsageError(
            "name one of the {number} sessions that run",
            number=len(running),
            hint="redoma session list",
        )
    return str(running[0]["id"])


def _plain(given: str) -> str:
    if not (given.isascii() and given.isalnum()):
        raise UsageError("{name} is no session", name=repr(given), hint="redoma session list")
    return given


def _attached(session: str) -> int:
    from redoma.server.attachment import attach

    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("a session is attached to a terminal", hint="redoma session list")
    return attach(session)


def _size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(1)
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


def _invitation(made: dict[str, Any]) -> str:
    return phrased(
        Message(
            "code, good once and for 15 minutes: {code}\nlink for a guest: {link}\n",
            code=made["code"],
            link=made["link"],
        )
    )


def _say(line: CommandLine, data: dict[str, Any], text: str) -> int:
    sys.stdout.write(json.dumps(data) + "\n" if line.json else text)
    return 0
