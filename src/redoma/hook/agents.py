"""What an agent is about to do, read from the JSON that it gives its hooks.

What each agent calls its tools, and how it wants to be answered.

A hook only ever tightens: it asks, it refuses, or it says nothing and leaves the call to the
agent's own rules. It never says `allow`, which would skip a prompt that the agent itself shows.

The three protocols look alike and differ where it matters. Claude Code takes `ask` and `deny`.
Codex takes only `deny`: it reports an explicit `ask` as a broken hook and then runs the command, so
a question becomes a refusal that says how a person can go on. Gemini CLI takes both under other
names (`ask` since 0.36; without a terminal it waits for the answer for ever). For all of them exit
status 2 with a message on standard error stops the call, and every other failure of a hook lets it
through.
"""

from __future__ import annotations

import json
import re

from redoma.cli.streams import MOST_BYTES
from redoma.i18n import phrased
from redoma.model.message import Message
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


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
    # What a tool that only looks would do, as a shell would say it.
    looks: tuple[str, ...] = ()
    background: bool = False


def read_call(raw: bytes | None, agent: Agent) -> ToolCall:
    """The call in a payload, or `Unreadable` with what is wrong with it."""
    return call_of(payload_of(raw), agent)


def call_of(payload: dict[str, object], agent: Agent) -> ToolCall:
    """The call in a payload that was read."""
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
        return ToolCall(
            tool=tool,
            cwd=where,
            project=project,
            command=_command(given, tool, agent),
            background=given.get(agent.background) is True,
        )
    if tool in agent.writers:
        given = _input(payload)
        path = _first(given, agent.writers[tool])
        return ToolCall(tool=tool, cwd=cwd, paths=(path,))
    if tool in agent.patchers:
        paths = paths_of(_first(_input(payload), agent.patchers[tool]))
        if not paths:
            raise Unreadable("the patch names no file")
        return ToolCall(tool=tool, cwd=cwd, paths=paths)
    if tool in agent.readers or tool in agent.fetchers:
        return ToolCall(tool=tool, cwd=cwd, looks=_looks(_input(payload), tool, agent))
    if tool.startswith(agent.servers):
        return _of_server(payload, tool, cwd)
    return ToolCall(tool=tool, cwd=cwd)


def _looks(given: dict[str, object], tool: str, agent: Agent) -> tuple[str, ...]:
    """What reads the same files or asks the same host in a shell, which the judge knows."""
    import shlex

    if tool in agent.fetchers:
        found = [text for name in agent.fetchers[tool] for text in _texts(given.get(name))]
        return tuple(f"curl -fsS -- {shlex.quote(url)}" for text in found for url in _urls(text))
    paths = [text for name in agent.readers[tool] for text in _texts(given.get(name))]
    return tuple(f"cat -- {shlex.quote(path)}" for path in paths)


def _urls(text: str) -> list[str]:
    return [word.strip("\"'<>(),;") for word in text.split() if "://" in word]


def _texts(given: object) -> list[str]:
    found = given if isinstance(given, list) else [given]
    return [text for text in found if isinstance(text, str) and text.strip()]


_PATHS = ("path", "paths", "file_path", "filepath", "file", "filename", "source", "destination")
_URLS = ("url", "urls", "uri")
_CHANGES = re.compile(r"writ|edit|creat|delet|remov|mov|renam|append|save|patch", re.IGNORECASE)


def _of_server(payload: dict[str, object], tool: str, cwd: str | None) -> ToolCall:
    """A tool of an MCP server, as far as its arguments say by name what it touches."""
    import shlex

    given = payload.get("tool_input")
    if not isinstance(given, dict):
        return ToolCall(tool=tool, cwd=cwd)
    paths = [text for name in _PATHS for text in _texts(given.get(name)) if "://" not in text]
    urls = [text for name in _URLS for text in _texts(given.get(name))]
    looks = [f"curl -fsS -- {shlex.quote(url)}" for text in urls for url in _urls(text)]
    if _CHANGES.search(tool.rpartition("__")[2]):
        return ToolCall(tool=tool, cwd=cwd, paths=tuple(paths), looks=tuple(looks))
    looks += [f"cat -- {shlex.quote(path)}" for path in paths]
    return ToolCall(tool=tool, cwd=cwd, looks=tuple(looks))


def payload_of(raw: bytes | None) -> dict[str, object]:
    """The JSON object that an agent has written, or `Unreadable`."""
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


ASK, DENY = "ask", "deny"


class Agent(Value):
    """One agent: its event, its tools, its answers."""

    name: str
    title: str
    event: str
    shells: dict[str, tuple[str, ...]]  # tool → fields that may hold the command
    writers: dict[str, tuple[str, ...]]  # tool → fields that may hold the path
    patchers: dict[str, tuple[str, ...]]  # tool → fields that may hold a patch
    worded: tuple[str, ...] = ()  # shell tools that may give the command as a list of words
    foreign: tuple[str, ...] = ()  # tools that run a language we do not read
    directories: tuple[str, ...] = ()  # fields of a shell tool that name where it runs
    readers: dict[str, tuple[str, ...]]  # tool → fields that may hold a path to look at
    fetchers: dict[str, tuple[str, ...]]  # tool → fields that may hold an address
    servers: str = "mcp__"  # how the names of tools of MCP servers begin
    background: str = ""  # the field of a shell tool by which a command stays
    # Of an agent whose commands run enclosed: what it calls the end of a call, and its project.
    finished: str = ""
    project: str = ""
    rewrites: bool = False  # whether it takes another command from its hook
    answer: Callable[[str, str], dict[str, object]]

    def says(self, word: str, reason: str) -> str:
        """A question or a refusal in the agent's own words; there is no other answer."""
        if word not in (ASK, DENY):
            raise ValueError(word)
        return json.dumps(self.answer(word, reason)) + "\n"


def _claude_answer(word: str, reason: str) -> dict[str, object]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": reason,
        }
    }


def _codex_answer(word: str, reason: str) -> dict[str, object]:
    if word == ASK:
        reason += phrased(
            " Codex cannot ask from a hook, so this is refused. Do not look for a way around it:"
            " tell the person, who can run it in a terminal of their own."
        )
    return _claude_answer(DENY, reason)


def _gemini_answer(word: str, reason: str) -> dict[str, object]:
    answer: dict[str, object] = {"decision": word, "reason": reason}
    if word == ASK:
        answer["systemMessage"] = reason  # what the person sees beside the question
    return answer


CLAUDE_CODE = Agent(
    name="claude-code",
    title="Claude Code",
    event="PreToolUse",
    shells={"Bash": ("command",), "Monitor": ("command",)},
    writers={
        "Write": ("file_path",),
        "Edit": ("file_path",),
        "MultiEdit": ("file_path",),
        "NotebookEdit": ("notebook_path", "file_path"),
    },
    patchers={},
    foreign=("PowerShell",),
    readers={
        "Read": ("file_path",),
        "NotebookRead": ("notebook_path",),
        "Grep": ("path",),
        "Glob": ("path",),
    },
    fetchers={"WebFetch": ("url",)},
    background="run_in_background",
    finished="PostToolUse",
    project="CLAUDE_PROJECT_DIR",
    answer=_claude_answer,
)

CODEX = Agent(
    name="codex",
    title="Codex CLI",
    event="PreToolUse",
    shells={
        "Bash": ("command",),
        "shell": ("command",),
        "local_shell": ("command",),
        "shell_command": ("command",),
        "exec_command": ("command", "cmd"),
    },
    writers={},
    patchers={"apply_patch": ("command", "input", "patch")},
    worded=("shell", "local_shell"),
    directories=("workdir",),
    readers={},
    fetchers={},
    answer=_codex_answer,
)

GEMINI = Agent(
    name="gemini",
    title="Gemini CLI",
    event="BeforeTool",
    shells={"run_shell_command": ("command",)},
    writers={"write_file": ("file_path",), "replace": ("file_path",)},
    patchers={},
    directories=("dir_path", "directory"),
    readers={
        "read_file": ("file_path", "absolute_path"),
        "read_many_files": ("paths", "include"),
        "grep_search": ("dir_path", "path"),
        "search_file_content": ("dir_path", "path"),
        "list_directory": ("dir_path", "path"),
        "glob": ("dir_path", "path"),
    },
    fetchers={"web_fetch": ("url", "prompt")},
    servers="mcp_",
    background="is_background",
    finished="AfterTool",
    project="GEMINI_PROJECT_DIR",
    rewrites=True,
    answer=_gemini_answer,
)

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (CLAUDE_CODE, CODEX, GEMINI)}
