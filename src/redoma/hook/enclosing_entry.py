"""What stands in an agent's settings beside our hook where its commands run enclosed.

The events by which we know of a session's begin and of the end of a call, and for Claude Code the
prefix of its shell. Added to and taken out of the text of a JSON file; everything else stays.
"""

from __future__ import annotations

from redoma.hook import entry, json_text
from redoma.hook.own_shell import checked_place
from redoma.model.errors import UsageError

PREFIX = "CLAUDE_CODE_SHELL_PREFIX"
EVENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "claude-code": (("SessionStart", ""), ("PostToolUse", "Bash")),
    "gemini": (("AfterTool", "^run_shell_command$"),),
}


def groups(agent: str, options: list[str]) -> list[tuple[str, dict[str, object]]]:
    """Each further event, with its matcher group."""
    made = []
    for event, matcher in EVENTS[agent]:
        group = entry.group(agent, options)
        # Nothing hangs on these: one that fails stops nobody.
        handlers = group["hooks"]
        assert isinstance(handlers, list)
        handlers[0].pop("onFailure", None)
        group = {**group, "matcher": matcher} if matcher else {"hooks": handlers}
        made.append((event, group))
    return made


def is_worn(settings: dict[str, object], agent: str) -> bool:
    """Whether anything of this stands in parsed settings."""
    return _prefix(settings) or any(
        entry.our_handlers(settings, agent, event) for event, _ in EVENTS.get(agent, ())
    )


def _prefix(settings: dict[str, object]) -> bool:
    env = settings.get("env")
    value = env.get(PREFIX) if isinstance(env, dict) else None
    return isinstance(value, str) and value.endswith("/redoma/agents/claude-code-shell")


def add(text: str, agent: str, options: list[str]) -> str:
    """The settings with it; refused where someone else's prefix is there."""
    settings = entry.JsonSettings.parse(text)
    hooks = settings.get("hooks", {})
    for event, group in groups(agent, options):
        if not isinstance(hooks, dict) or not isinstance(hooks.get(event, []), list):
            raise UsageError("has `hooks` of a shape that the agent does not know")
        text = json_text.append(text, ("hooks", event), group)
    if agent != "claude-code":
        return text
    env = settings.get("env", {})
    if not isinstance(env, dict):
        raise UsageError("has an `env` that is not an object")
    if PREFIX in env and not _prefix(settings):
        raise UsageError(
            "sets {name} already, and there can be one only: --judge-only leaves it", name=PREFIX
        )
    return json_text.put(text, ("env", PREFIX), checked_place(agent))


def remove(text: str, agent: str) -> str:
    """The settings without it, and without what stood there only for it."""
    for event, _ in EVENTS.get(agent, ()):
        text = entry.JsonSettings().remove(text, agent, event)
    settings = entry.JsonSettings.parse(text)
    if not _prefix(settings):
        return text
    env = settings["env"]
    assert isinstance(env, dict)
    return json_text.drop(text, ("env", PREFIX) if len(env) > 1 else ("env",))
