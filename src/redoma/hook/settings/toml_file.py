"""Our entry in Codex's `config.toml`: one marked block at the end, so that comments stay."""

from __future__ import annotations

import json
import tomllib

from redoma.hook.settings import entry
from redoma.model.errors import UsageError

BEGIN = "# >>> redoma hook: `redoma hook uninstall codex` takes this block out >>>"
END = "# <<< redoma hook <<<"


def parse(text: str) -> dict[str, object]:
    """The settings as data."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"is not TOML: {error}") from error


def groups(text: str | None, agent: str) -> list[dict[str, object]]:
    """Our matcher groups, reduced to the handlers that are ours."""
    if text is None:
        return []
    return entry.our_groups(parse(text), agent)


def add(text: str | None, agent: str, group: dict[str, object]) -> str:
    """The settings with our block at the end; refused where TOML would then mean something else."""
    before = text or ""
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    after = before + gap + block(agent, group)
    wanted = [*groups(before, agent), group]
    try:
        found = groups(after, agent)
    except UsageError:
        found = []
    if found != wanted:
        raise UsageError("defines `hooks` in a way that a block at its end cannot add to")
    return after


def block(agent: str, group: dict[str, object]) -> str:
    """The group as array-of-tables entries between marks."""
    name = f"hooks.{entry.event(agent)}"
    lines = [BEGIN, f"[[{name}]]", f"matcher = {_string(group['matcher'])}"]
    handlers = group["hooks"]
    assert isinstance(handlers, list)
    for handler in handlers:
        lines += ["", f"[[{name}.hooks]]"]
        lines += [
            f"{key} = {value if isinstance(value, int) else _string(value)}"
            for key, value in handler.items()
        ]
    return "\n".join([*lines, END, ""])


def _string(value: object) -> str:
    # JSON's escapes are a part of TOML's, but JSON leaves DEL bare.
    return json.dumps(value).replace("\x7f", "\\u007f")


def remove(text: str, agent: str) -> str:
    """The settings without our block."""
    start = text.find(BEGIN)
    stop = text.find(END, start)
    if start < 0 or stop < 0:
        if groups(text, agent):
            raise UsageError("has our hook outside the block that we wrote; take it out by hand")
        return text
    head = text[:start]
    if head.endswith("\n\n"):
        head = head[:-1]
    return head + text[stop + len(END) :].removeprefix("\n")
