"""JSON edited as text: what is not touched stays as its owner wrote it, to the last blank."""

from __future__ import annotations

import json
import re

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_PLAIN = re.compile(r"[^ \t\r\n,\]}]+")


class JsonNode:
    """A value in the text: where it stands, and for containers where each item stands."""

    __slots__ = ("end", "items", "keys", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.items: list[JsonNode] = []
        self.keys: list[tuple[str, int]] = []  # of an object: each name and where it starts

    def member(self, name: str) -> JsonNode | None:
        """The value under a name; the last one counts, as for every JSON reader."""
        for (key, _), item in zip(reversed(self.keys), reversed(self.items), strict=True):
            if key == name:
                return item
        return None


def scan(text: str) -> JsonNode:
    """The tree of a text that `json.loads` has already accepted."""
    return _value(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> JsonNode:
    node = JsonNode(at)
    if text[at] in "{[":
        closing = "}" if text[at] == "{" else "]"
        at = _skip(text, at + 1)
        while text[at] != closing:
            if closing == "}":
                name, after = _string(text, at)
                node.keys.append((name, at))
                at = _skip(text, _skip(text, after) + 1)
            item = _value(text, at)
            node.items.append(item)
            at = _skip(text, item.end)
            if text[at] == ",":
                at = _skip(text, at + 1)
        node.end = at + 1
    elif text[at] == '"':
        node.end = _string(text, at)[1]
    else:
        found = _PLAIN.match(text, at)
        node.end = found.end() if found else at
    return node


def _string(text: str, at: int) -> tuple[str, int]:
    value, end = _DECODER.raw_decode(text, at)
    return str(value), end


def append(text: str, path: tuple[str, ...], value: object) -> str:
    """The text with `value` as the last item of the array at `path`, made where it is missing."""
    node, missing = _deepest(text, path)
    if not missing:
        return _insert(text, node, "", value)
    return _nest(text, node, missing, [value])


def put(text: str, path: tuple[str, ...], value: object) -> str:
    """The text with `value` as the member at `path`, in place of the one that is there."""
    node, missing = _deepest(text, path)
    if missing:
        return _nest(text, node, missing, value)
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    margin = line[: len(line) - len(line.lstrip(" \t"))]
    made = _pretty(value, _unit(text), margin, "\r\n" if "\r\n" in text else "\n")
    return text[: node.start] + made + text[node.end :]


def _deepest(text: str, path: tuple[str, ...]) -> tuple[JsonNode, tuple[str, ...]]:
    """The last value along a path that is there, and the names after it."""
    node = scan(text)
    for done, name in enumerate(path):
        inner = node.member(name)
        if inner is None:
            return node, path[done:]
        node = inner
    return node, ()


def _nest(text: str, node: JsonNode, names: tuple[str, ...], value: object) -> str:
    for name in reversed(names[1:]):
        value = {name: value}
    return _insert(text, node, f"{json.dumps(names[0], ensure_ascii=False)}: ", value)


def _insert(text: str, container: JsonNode, lead: str, value: object) -> str:
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    if container.items:
        first = container.keys[0][1] if container.keys else container.items[0].start
        gap = text[container.start + 1 : first]
        at = container.items[-1].end
        if "\n" in gap:
            margin = gap[gap.rindex("\n") + 1 :]
            item = _pretty(value, unit, margin, end_of_line)
            return f"{text[:at]},{end_of_line}{margin}{lead}{item}{text[at:]}"
        return f"{text[:at]}, {lead}{json.dumps(value, ensure_ascii=False)}{text[at:]}"
    if "\n" not in text.strip() and text.strip() != "{}":
        inside = f"{lead}{json.dumps(value, ensure_ascii=False)}"
    else:
        line = text[text.rfind("\n", 0, container.start) + 1 : container.start]
        outer = line[: len(line) - len(line.lstrip(" \t"))]
        margin = outer + unit
        item = _pretty(value, unit, margin, end_of_line)
        inside = f"{end_of_line}{margin}{lead}{item}{end_of_line}{outer}"
    return text[: container.start + 1] + inside + text[container.end - 1 :]


def _pretty(value: object, unit: str, margin: str, end_of_line: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{end_of_line}{margin}".join(lines)


def _unit(text: str) -> str:
    """What one step of indentation is in this text."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found else "  "


def drop(text: str, path: tuple[str | int, ...]) -> str:
    """The text without the item or member at `path`."""
    node = scan(text)
    for step in path[:-1]:
        node = _step(node, step)
    last = path[-1]
    at = node.items.index(_step(node, last))
    starts = [start for _, start in node.keys] or [item.start for item in node.items]
    if len(node.items) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if at == 0:
        return text[: starts[0]] + text[starts[1] :]
    return text[: node.items[at - 1].end] + text[node.items[at].end :]


def _step(node: JsonNode, step: str | int) -> JsonNode:
    if isinstance(step, int):
        return node.items[step]
    inner = node.member(step)
    if inner is None:
        raise KeyError(step)
    return inner
