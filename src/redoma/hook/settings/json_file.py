"""Our entry in a JSON settings file: found, added, taken out; the rest is left as text."""

from __future__ import annotations

import json

from redoma.hook.settings import entry, jsontext
from redoma.model.errors import UsageError


def parse(text: str) -> dict[str, object]:
    """The settings as data; refuses what cannot be edited without losing something."""
    try:
        settings = json.loads(text)
    except RecursionError as error:
        raise UsageError("is nested too deeply") from error
    except ValueError as error:
        if _commented(text):
            raise UsageError(f"has comments, which JSON does not: {error}") from error
        raise UsageError(f"is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise UsageError("is not a JSON object")
    return settings


def _commented(text: str) -> bool:
    return any(line.lstrip().startswith(("//", "/*")) for line in text.splitlines())


def groups(text: str | None, agent: str) -> list[dict[str, object]]:
    """Our matcher groups, reduced to the handlers that are ours."""
    if text is None or not text.strip():
        return []
    return entry.our_groups(parse(text), agent)


def add(text: str | None, agent: str, group: dict[str, object]) -> str:
    """The settings with our group at the end of its event."""
    if text is None or not text.strip():
        return json.dumps({"hooks": {entry.event(agent): [group]}}, indent=2) + "\n"
    settings = parse(text)
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict) or not isinstance(hooks.get(entry.event(agent), []), list):
        raise UsageError("has `hooks` of a shape that the agent does not know")
    return jsontext.append(text, ("hooks", entry.event(agent)), group)


def remove(text: str, agent: str) -> str:
    """The settings without our handlers, and without what stood there only for them."""
    event = entry.event(agent)
    while True:
        settings = parse(text)
        ours = entry.our_handlers(settings, agent)
        if not ours:
            return text
        at, position = ours[-1]
        events = settings["hooks"]
        assert isinstance(events, dict)
        handlers = events[event][at]["hooks"]
        if len(handlers) > 1:
            text = jsontext.drop(text, ("hooks", event, at, "hooks", position))
        elif len(events[event]) > 1:
            text = jsontext.drop(text, ("hooks", event, at))
        elif len(events) > 1:
            text = jsontext.drop(text, ("hooks", event))
        else:
            text = jsontext.drop(text, ("hooks",))
