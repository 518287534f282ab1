"""`redoma session-report`: what an agent did in a session; `undo --session` takes it back."""

from __future__ import annotations

import os
import sys
import time

from redoma.base.text import harmless
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.i18n import phrased
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.model.change import HistoryEntry
    from redoma.pipeline.agent_work import SessionWork

_SHOWN = 20
REPORT = CommandTable(
    "session-report",
    "Shows what a coding agent did through Redoma in one of its sessions: how many commands ran and"
    " how many were refused, and every file that they changed. Without an ID it is the last session"
    " that changed something in this directory.",
    usage=("[ID] [--json]", "--list [--json]"),
    arguments=(Argument("ID", "the agent's name of the session, or how it begins"),),
    options=(
        Heading("options"),
        Option("--list", "every session that is written down, the newest first"),
        Option("--json", "one JSON object"),
    ),
    samples=(Sample("redoma session-report --list", "every session of an agent"),),
)


@REPORT.main
def main(line: CommandLine) -> int:
    """Shows one session, or lists them."""
    from redoma.pipeline import agent_work

    if len(line.words) > 1 or (line.words and "--list" in line.flags):
        raise UsageError("one at a time", hint="redoma session-report ID")
    if "--list" in line.flags:
        return _list(line)
    work = agent_work.session_work(*line.words[:1], workspace=os.getcwd())
    if line.json:
        return _write(_as_json(work))
    told = "{caller}, session {id}: {ran} commands ran, {refused} were refused\n"
    names = {"caller": harmless(work.caller), "id": harmless(work.id)}
    sys.stdout.write(phrased(told, ran=work.ran, refused=work.refused, **names))
    for entry in work.changes:
        sys.stdout.write(f"\n{entry.id}  {_clock(entry.when)}  {phrased(entry.standing.value)}\n")
        sys.stdout.write(f"  {harmless(entry.command)[:_WIDTH]}\n")
        paths = _paths(entry)
        for path in paths[:_SHOWN]:
            sys.stdout.write(f"    {harmless(path)}\n")
        if len(paths) > _SHOWN:
            sys.stdout.write(phrased("  and {0} more\n", len(paths) - _SHOWN))
    for command in work.direct:
        said = phrased("wrote without undo: {0}\n", harmless(command)[:_WIDTH])
        sys.stdout.write(f"\n{said}")
    sys.stdout.flush()
    if not work.changes and not work.direct:
        sys.stderr.write(phrased("redoma: it changed nothing through Redoma\n"))
    if work.applied:
        hint = phrased("hint: {hint}", hint=f"redoma undo --session {work.id}")
        sys.stderr.write(f"{hint}\n")
    return 0


_WIDTH = 200


def _list(line: CommandLine) -> int:
    from redoma.pipeline import agent_work

    rows = agent_work.sessions()
    if line.json:
        found = [{"id": id, "agent": agent, "last": at} for id, agent, at in rows]
        return _write({"sessions": found})
    for id, agent, at in rows:
        sys.stdout.write(f"{_clock(at)}  {harmless(agent):<12}  {harmless(id)}\n")
    if not rows:
        sys.stderr.write(phrased("redoma: no agent has had a session yet\n"))
    return 0


def undo_session(word: str, *, as_json: bool) -> int:
    """Takes back what a session changed, the newest first."""
    from redoma.cli import complain
    from redoma.pipeline import agent_work
    from redoma.pipeline.decisions.policies import load_policy
    from redoma.pipeline.transactions import local_transactions

    work = agent_work.session_work(word)
    done = agent_work.undo_session(work, local_transactions(load_policy(".")))
    status = 0 if done.error is None else done.error.exit_status
    if as_json:
        error = done.error.as_dict() if done.error is not None else None
        undone = [{"id": each.id, "paths": list(each.paths)} for each in done.undone]
        _write(
            {
                "session": work.id,
                "undone": undone,
                "stopped_at": done.stopped_at or None,
                "error": error,
                "not_undoable": list(work.direct),
            }
        )
        return status
    for each in done.undone:
        told = "undid {0}: {1} paths are as they were\n"
        if len(each.paths) == 1:
            told = "undid {0}: {1} path is as it was\n"
        sys.stdout.write(phrased(told, each.id, len(each.paths)))
    sys.stdout.flush()
    for command in work.direct:
        said = phrased("wrote without undo: {0}\n", harmless(command)[:_WIDTH])
        sys.stderr.write(f"redoma: {said}")
    if done.error is None:
        told = "redoma: session {0}: everything that can be taken back is ({1} transactions)\n"
        sys.stderr.write(phrased(told, harmless(work.id), len(done.undone)))
        return status
    told = "redoma: session {0}: stopped at {1}, which stays as it is with all before it\n"
    sys.stderr.write(phrased(told, harmless(work.id), done.stopped_at))
    return complain(done.error)


def _paths(entry: HistoryEntry) -> list[str]:
    """What a transaction changed, as long as that is kept."""
    from redoma.model.errors import RedomaError
    from redoma.pipeline import stored_changes

    try:
        return [f"{item.did.value} {item.path}" for item in stored_changes.load(entry.id).items]
    except RedomaError:
        return []


def _as_json(work: SessionWork) -> dict[str, object]:
    return {
        "session": work.id,
        "agent": work.caller,
        "began": work.began,
        "ended": work.ended,
        "ran": work.ran,
        "refused": work.refused,
        "not_undoable": list(work.direct),
        "changes": [
            {
                "id": entry.id,
                "command": entry.command,
                "workspace": entry.workspace,
                "standing": entry.standing.value,
                "paths": _paths(entry),
            }
            for entry in work.changes
        ],
    }


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _write(content: dict[str, object]) -> int:
    import json

    sys.stdout.write(json.dumps(content) + "\n")
    return 0
