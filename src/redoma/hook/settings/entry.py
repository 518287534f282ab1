"""What is written into an agent's settings: one matcher group with one command of ours."""

from __future__ import annotations

import os
import re
import shlex
import sys

import redoma
from redoma.hook.agents import AGENTS

TIMEOUT_S = 60
# Attack: every agent goes on when a hook cannot start or dies (moved, no memory, killed). A shell
# starts the command anyway, so it turns each of these into the one status that stops the call. No
# braces: Codex starts the user's own shell, which may be fish.
ELSE_STOP = "|| sh -c 'echo \"redoma gave no answer, so the call is refused\" >&2; exit 2'"

MATCHERS = {
    "claude-code": "Bash|Monitor|PowerShell|Write|Edit|MultiEdit|NotebookEdit",
    "codex": "Bash|shell|local_shell|shell_command|exec_command|apply_patch",
    "gemini": "^(run_shell_command|write_file|replace)$",
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


def our_handlers(settings: object, agent: str) -> list[tuple[int, int]]:
    """Where ours stand in parsed settings: the index of the group and of the handler in it."""
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    groups = hooks.get(event(agent)) if isinstance(hooks, dict) else None
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
