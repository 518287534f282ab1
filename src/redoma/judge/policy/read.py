"""Reads the text of a `sandbox.yaml`: every value checked, every error with its line and column."""

from __future__ import annotations

from redoma.judge.policy.schema import KEYS, SECTIONS, WRAPPED
from redoma.model.errors import PolicySyntax, UnknownKey
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import yaml

LARGEST = 256 * 1024
DEEPEST = 12
MOST_NODES = 20_000


class Layer(Value):
    """One file as read: its values by key, and where each stands. Plain data, ready to be kept."""

    path: str
    origin: str
    values: dict[str, Any]
    at: dict[str, str]

    def place(self, key: str) -> str:
        """`file:line:column` of a key."""
        return f"{self.path}:{self.at[key]}" if key in self.at else self.path


def read(text: str | bytes, *, path: str, origin: str = "user") -> Layer:
    """A layer, or an error that says what to change and where."""
    tree = _compose(_decoded(text, path), path)
    found = _File(path)
    found.mapping(tree, "")
    return Layer(path=path, origin=origin, values=found.values, at=found.at)


def _decoded(text: str | bytes, path: str) -> str:
    if len(text) > LARGEST:
        raise PolicySyntax(f"a policy has at most {LARGEST} bytes", location=path)
    if isinstance(text, bytes):
        raw = text
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
            raise PolicySyntax("this is not UTF-8", location=f"{path}:{line}:{column}") from None
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise _empty(path)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise PolicySyntax("a NUL byte has no place here", location=f"{path}:{line}:1")
    return text


def _empty(path: str) -> PolicySyntax:
    hint = "redoma policy init writes one that says all there is; an empty policy is `{}`"
    return PolicySyntax("the file is empty, as if half written", location=path, hint=hint)


def _compose(text: str, path: str) -> yaml.Node:
    import yaml

    try:
        _bound(text, path)
        tree: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
        hint = "indent with spaces" if "\\t" in what else ""
        raise PolicySyntax(f"this is not YAML: {what}", location=place, hint=hint) from None
    if tree is None:
        raise _empty(path)
    return tree


def _bound(text: str, path: str) -> None:
    """Refuses what YAML can do and a policy never needs.

    Attack: nested aliases that unfold into gigabytes; tags that would make objects; a second
    document that a reader of the first never sees.
    """
    import yaml

    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        what = ""
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            what = "one file holds one policy" if documents > 1 else ""
        elif isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            what = "anchors and aliases are not used in a policy"
        elif isinstance(event, yaml.NodeEvent):
            nodes += 1
            if nodes > MOST_NODES:
                what = "this is too much for a policy"
            elif getattr(event, "tag", None) is not None:
                what = "tags are not used in a policy"
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            what = what or ("this is nested too deeply" if depth > DEEPEST else "")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if what:
            mark = event.start_mark
            raise PolicySyntax(what, location=f"{path}:{mark.line + 1}:{mark.column + 1}")


class _File:
    """Collects the values of a file, key by key."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.values: dict[str, Any] = {}
        self.at: dict[str, str] = {}

    def mapping(self, tree: yaml.Node, above: str) -> None:
        from redoma.judge.policy.nodes import location, pairs

        start = f"{above}." if above else ""
        known = [name for name in (*KEYS, *WRAPPED) if name.startswith(start)]
        wanted = dict.fromkeys(name[len(start) :].partition(".")[0] for name in known)
        for name, key, value in pairs(self.path, tree, above):
            if name not in wanted:
                raise self._unknown(name, location(self.path, key), start, list(wanted))
            full = start + name
            if full in KEYS or full in WRAPPED:
                self._take(WRAPPED.get(full, full), key, value)
            else:
                self.mapping(value, full)

    def _take(self, name: str, key: yaml.Node, value: yaml.Node) -> None:
        from redoma.judge.policy.nodes import location
        from redoma.judge.policy.values import value_of

        place = location(self.path, key)
        if name in self.values:
            raise PolicySyntax(
                f"{name} is given twice, also at {self.path}:{self.at[name]}", location=place
            )
        self.values[name] = value_of(self.path, name, KEYS[name], value)
        self.at[name] = place[len(self.path) + 1 :]

    def _unknown(self, name: str, place: str, start: str, wanted: list[str]) -> UnknownKey:
        from difflib import get_close_matches

        near = get_close_matches(name, wanted, n=1)
        elsewhere = next((k for k in KEYS if k.endswith(f".{name}") or (k == name and start)), "")
        if near:
            hint = f"did you mean {start}{near[0]}?"
        elif elsewhere:
            hint = f"did you mean {elsewhere}?"
        else:
            hint = "keys here: " + ", ".join(wanted)
        return UnknownKey(f"unknown key {start}{name}", location=place, hint=hint)


__all__ = ["LARGEST", "SECTIONS", "Layer", "read"]
