"""What an agent is about to do, read from the JSON that it gives its hooks."""

from __future__ import annotations

import json

from redoma.cli.streams import MOST_BYTES
from redoma.model.message import Message
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.hook.agents import Agent

MARKERS = ("*** Add File:", "*** Delete File:", "*** Update File:", "*** Move to:")


def paths_of(patch: str) -> tuple[str, ...]:
    """Every path named in a patch, in order, each once.

    Codex forgives blanks around a header and a here-document around the patch, so any line that
    could be a header counts as one. Attack: a header hidden in an added line (`+*** Add File:`)
    is content, but a line that only looks like content and is read as a header must be judged.
    """
    found: dict[str, None] = {}
    for line in patch.splitlines():
        header = line.strip()
        for marker in MARKERS:
            if header.startswith(marker):
                path = header[len(marker) :].strip()
                if path:
                    found[path] = None
    return tuple(found)


class Unreadable(Exception):
    """The payload is not what this agent sends, so nothing is known about the call."""


class ToolCall(Value):
    """A tool call in our terms; with neither command nor paths it is none of our business."""

    tool: str
    cwd: str | None = None
    # The directory of the session, where the call names another: its policy is the one that counts.
    project: str | None = None
    command: str | None = None
    paths: tuple[str, ...] = ()
    foreign: bool = False
    session: str = ""


def read_call(raw: bytes | None, agent: Agent) -> ToolCall:
    """The call in a payload, or `Unreadable` with what is wrong with it."""
    payload = _object(raw)
    session = payload.get("session_id")
    return replace(_call(payload, agent), session=session if isinstance(session, str) else "")


def _call(payload: dict[str, object], agent: Agent) -> ToolCall:
    event = payload.get("hook_event_name", agent.event)
    if event != agent.event:
        raise Unreadable(
            Message(
                "this hook answers {answers}, not {event}", answers=agent.event, event=repr(event)
            )
        )
    tool = _text(payload, "tool_name")
    cwd = _text(payload, "cwd") if payload.get("cwd") is not None else None
    if tool in agent.foreign:
        return ToolCall(tool=tool, cwd=cwd, foreign=True)
    if tool in agent.shells:
        given = _input(payload)
        where = _directory(given, agent.directories, cwd)
        project = cwd if where != cwd else None
        return ToolCall(tool=tool, cwd=where, project=project, command=_command(given, tool, agent))
    if tool in agent.writers:
        given = _input(payload)
        path = _first(given, agent.writers[tool])
        return ToolCall(tool=tool, cwd=cwd, paths=(path,))
    if tool in agent.patchers:
        paths = paths_of(_first(_input(payload), agent.patchers[tool]))
        if not paths:
            raise Unreadable("the patch names no file")
        return ToolCall(tool=tool, cwd=cwd, paths=paths)
    return ToolCall(tool=tool, cwd=cwd)


def _object(raw: bytes | None) -> dict[str, object]:
    if raw is None:
        raise Unreadable(Message("the payload is larger than {most} bytes", most=MOST_BYTES))
    try:
        payload = json.loads(raw.decode("utf-8"), object_pairs_hook=_each_key_once)
    except UnicodeDecodeError as error:
        raise Unreadable(
            Message("the payload is not valid UTF-8 at byte {start}", start=error.start)
        ) from error
    except ValueError as error:
        raise Unreadable(Message("the payload is not JSON: {error}", error=error)) from error
    except RecursionError as error:
        raise Unreadable("the payload is nested too deeply") from error
    if not isinstance(payload, dict):
        raise Unreadable("the payload is not a JSON object")
    return payload


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Attack: {"command": "rm -rf ~", "command": "ls"}: we judge one, the agent runs the other.
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _input(payload: dict[str, object]) -> dict[str, object]:
    given = payload.get("tool_input")
    if not isinstance(given, dict):
        raise Unreadable("`tool_input` is not an object")
    return given


def _text(source: dict[str, object], name: str) -> str:
    value = source.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Unreadable(Message("`{name}` is not a string with something in it", name=name))
    return value


def _first(given: dict[str, object], names: tuple[str, ...]) -> str:
    """The first of several fields that is there; a field that is there must be text."""
    for name in names:
        if given.get(name) is not None:
            return _text(given, name)
    raise Unreadable(Message("`tool_input` has no `{name}`", name=names[0]))


def _command(given: dict[str, object], tool: str, agent: Agent) -> str:
    words = given.get("command")
    if tool not in agent.worded or not isinstance(words, list):
        return _first(given, agent.shells[tool])
    if not all(isinstance(word, str) for word in words) or not "".join(words[:1]).strip():
        raise Unreadable("`command` is a list of something other than words")
    import shlex

    return shlex.join(words)


def _directory(given: dict[str, object], names: tuple[str, ...], cwd: str | None) -> str | None:
    import os.path

    for name in names:
        if given.get(name) is not None:
            return os.path.join(cwd or "", _text(given, name))
    return cwd
