"""Our entry in an agent's settings: one matcher group with one command, in JSON or in TOML."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys

import redoma
from redoma.hook import json_text
from redoma.hook.agents import AGENTS
from redoma.model.errors import UsageError

BEGIN = "# >>> redoma hook: `redoma hook uninstall codex` takes this block out >>>"
END = "# <<< redoma hook <<<"
TIMEOUT_S = 60
# Attack: every agent goes on when a hook cannot start or dies (moved, no memory, killed). A shell
# starts the command anyway, so it turns each of these into the one status that stops the call. No
# braces: Codex starts the user's own shell, which may be fish.
ELSE_STOP = "|| sh -c 'echo \"redoma gave no answer, so the call is refused\" >&2; exit 2'"

MATCHERS = {
    "claude-code": "Bash|Monitor|PowerShell|Write|Edit|MultiEdit|NotebookEdit|Read|NotebookRead"
    "|Grep|Glob|WebFetch|mcp__.*",
    "codex": "Bash|shell|local_shell|shell_command|exec_command|apply_patch|mcp__.*",
    "gemini": "^(run_shell_command|write_file|replace|read_file|read_many_files|grep_search"
    "|search_file_content|list_directory|glob|web_fetch|mcp_.*)$",
}


def group(agent: str, options: list[str]) -> dict[str, object]:
    """The matcher group for an agent's settings."""
    handler: dict[str, object] = {"type": "command", "command": command(agent, options)}
    if agent == "gemini":
        handler["name"] = "redoma"
        handler["timeout"] = TIMEOUT_S * 1000
    else:
        handler["timeout"] = TIMEOUT_S
    if agent == "claude-code":
        handler["onFailure"] = "block"  # a hook that times out, too; ignored before 2.1.295
    return {"matcher": MATCHERS[agent], "hooks": [handler]}


def command(agent: str, options: list[str]) -> str:
    """The shell command that answers for this agent, by absolute path."""
    return f"{shlex.join([*launcher(), 'hook', agent, *options])} {ELSE_STOP}"


def launcher(package: str = os.path.dirname(os.path.abspath(redoma.__file__))) -> list[str]:
    """How to start this Redoma fast: its checkout's own script, else its Python without `site`."""
    root = os.path.dirname(os.path.dirname(package))
    script = os.path.join(root, "bin", "redoma")
    if package == os.path.join(root, "src", "redoma") and os.access(script, os.X_OK):
        return [script]
    start = os.path.join(package, "__main__.py")
    return [sys.executable, "-I", "-S", "-X", "utf8", start]


def event(agent: str) -> str:
    """The name of the event that our group stands under."""
    return AGENTS[agent].event


def is_ours(handler: object, agent: str) -> bool:
    """Whether a handler in someone's settings is one that we wrote."""
    if not isinstance(handler, dict):
        return False
    text = handler.get("command")
    wanted = rf"\bredoma\b.*\bhook {re.escape(agent)}(\s|$)"
    return isinstance(text, str) and re.search(wanted, text) is not None


def our_handlers(settings: object, agent: str, name: str = "") -> list[tuple[int, int]]:
    """Where ours stand in parsed settings: the index of the group and of the handler in it.

    `name` is another event than the one that judges.
    """
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    groups = hooks.get(name or event(agent)) if isinstance(hooks, dict) else None
    found = []
    for at, one in enumerate(groups if isinstance(groups, list) else []):
        handlers = one.get("hooks") if isinstance(one, dict) else None
        for position, handler in enumerate(handlers if isinstance(handlers, list) else []):
            if is_ours(handler, agent):
                found.append((at, position))
    return found


def our_groups(settings: dict[str, object], agent: str) -> list[dict[str, object]]:
    """Our matcher groups in parsed settings, reduced to the handlers that are ours."""
    found = []
    for at, position in our_handlers(settings, agent):
        group = settings["hooks"][event(agent)][at]  # type: ignore[index]
        found.append({**group, "hooks": [group["hooks"][position]]})
    return found


def starts(command: str) -> bool:
    """Whether every program and file that a command of ours names by path is still there."""
    try:
        words = shlex.split(command.partition(ELSE_STOP)[0])
    except ValueError:
        return False
    named = [word for word in words[: words.index("hook")] if word.startswith("/")]
    return all(os.path.exists(word) for word in named) and os.access(words[0], os.X_OK)


class JsonSettings:
    """Our entry in a JSON file: found, added, taken out; the rest is left as text."""

    @staticmethod
    def parse(text: str) -> dict[str, object]:
        """The settings as data; refuses what cannot be edited without losing something."""
        try:
            settings = json.loads(text)
        except RecursionError as error:
            raise UsageError("is nested too deeply") from error
        except ValueError as error:
            if any(line.lstrip().startswith(("//", "/*")) for line in text.splitlines()):
                raise UsageError(
                    "has comments, which JSON does not: {error}", error=error
                ) from error
            raise UsageError("is not JSON: {error}", error=error) from error
        if not isinstance(settings, dict):
            raise UsageError("is not a JSON object")
        return settings

    def groups(self, text: str | None, agent: str) -> list[dict[str, object]]:
        """Our matcher groups, reduced to the handlers that are ours."""
        return our_groups(self.parse(text), agent) if text and text.strip() else []

    def add(self, text: str | None, agent: str, group: dict[str, object]) -> str:
        """The settings with our group at the end of its event."""
        if text is None or not text.strip():
            return json.dumps({"hooks": {event(agent): [group]}}, indent=2) + "\n"
        hooks = self.parse(text).get("hooks", {})
        if not isinstance(hooks, dict) or not isinstance(hooks.get(event(agent), []), list):
            raise UsageError("has `hooks` of a shape that the agent does not know")
        return json_text.append(text, ("hooks", event(agent)), group)

    def remove(self, text: str, agent: str, name: str = "") -> str:
        """The settings without our handlers, and without what stood there only for them."""
        name = name or event(agent)
        while True:
            settings = self.parse(text)
            ours = our_handlers(settings, agent, name)
            if not ours:
                return text
            at, position = ours[-1]
            events = settings["hooks"]
            assert isinstance(events, dict)
            if len(events[name][at]["hooks"]) > 1:
                text = json_text.drop(text, ("hooks", name, at, "hooks", position))
            elif len(events[name]) > 1:
                text = json_text.drop(text, ("hooks", name, at))
            elif len(events) > 1:
                text = json_text.drop(text, ("hooks", name))
            else:
                text = json_text.drop(text, ("hooks",))


class TomlSettings:
    """Our entry in Codex's `config.toml`: one marked block at the end, so that comments stay."""

    @staticmethod
    def parse(text: str) -> dict[str, object]:
        """The settings as data."""
        import tomllib

        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise UsageError("is not TOML: {error}", error=error) from error

    def groups(self, text: str | None, agent: str) -> list[dict[str, object]]:
        """Our matcher groups, reduced to the handlers that are ours."""
        return our_groups(self.parse(text), agent) if text is not None else []

    def add(self, text: str | None, agent: str, group: dict[str, object]) -> str:
        """The settings with our block at the end; refused where TOML would mean something else."""
        before = text or ""
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        after = before + gap + toml_block(agent, group)
        wanted = [*self.groups(before, agent), group]
        try:
            found = self.groups(after, agent)
        except UsageError:
            found = []
        if found != wanted:
            raise UsageError("defines `hooks` in a way that a block at its end cannot add to")
        return after

    def remove(self, text: str, agent: str) -> str:
        """The settings without our block."""
        start = text.find(BEGIN)
        stop = text.find(END, start)
        if start < 0 or stop < 0:
            if self.groups(text, agent):
                told = "has our hook outside the block that we wrote; take it out by hand"
                raise UsageError(told)
            return text
        head = text[:start]
        if head.endswith("\n\n"):
            head = head[:-1]
        return head + text[stop + len(END) :].removeprefix("\n")


def toml_block(agent: str, group: dict[str, object]) -> str:
    """The group as array-of-tables entries between marks."""
    name = f"hooks.{event(agent)}"
    lines = [BEGIN, f"[[{name}]]", f"matcher = {_toml_string(group['matcher'])}"]
    handlers = group["hooks"]
    assert isinstance(handlers, list)
    for handler in handlers:
        lines += ["", f"[[{name}.hooks]]"]
        lines += [
            f"{key} = {value if isinstance(value, int) else _toml_string(value)}"
            for key, value in handler.items()
        ]
    return "\n".join([*lines, END, ""])


def _toml_string(value: object) -> str:
    # JSON's escapes are a part of TOML's, but JSON leaves DEL bare.
    return json.dumps(value).replace("\x7f", "\\u007f")
