"""Reads what a mock shall answer: a list of requests and their answers, strictly."""

from __future__ import annotations

import json

import yaml

from redoma.egress.hosts import normal
from redoma.model.errors import PolicySyntax, UnknownKey, UsageError
from redoma.model.message import Message
from redoma.model.network import MockedAnswer
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.model.network import Reach

KEYS = ("method", "host", "path", "status", "headers", "body")
_LARGEST = 8 << 20
_MOST = 1000
_DEEPEST = 32


def read_mocks(path: str) -> tuple[MockedAnswer, ...]:
    """The answers of a file, the first that fits counts; what cannot be read names its line."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LARGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else Message("it is not UTF-8")
        raise UsageError(
            "the mocks {path} cannot be read: {why}", path=repr(path), why=why
        ) from None
    if len(text) > _LARGEST:
        raise UsageError(
            "the mocks {path} are larger than {most} bytes", path=repr(path), most=_LARGEST
        )
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        raise PolicySyntax(getattr(error, "problem", None) or "not YAML", location=place) from None
    except RecursionError:
        raise PolicySyntax("this lies too deep", location=path) from None
    _written_out(path, tree)
    if not isinstance(tree, yaml.SequenceNode):
        raise PolicySyntax("mocks are a list of answers", location=path, hint=_hint())
    if len(tree.value) > _MOST:
        raise PolicySyntax(Message("there are more than {most} answers", most=_MOST), location=path)
    return tuple(_answer(path, node) for node in tree.value)


def _written_out(path: str, tree: yaml.Node | None) -> None:
    """Attack: aliases that unfold into gigabytes, or into themselves; and nesting without end."""
    seen: set[int] = set()
    waiting = [(tree, 0)] if tree is not None else []
    while waiting:
        node, depth = waiting.pop()
        if id(node) in seen:
            raise _wrong(path, node, "an alias is not used here")
        if depth > _DEEPEST:
            raise _wrong(path, node, "this lies too deep")
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [(each, depth + 1) for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += [(each, depth + 1) for each in node.value]


def mocking(reach: Reach, *, mock: bool | str) -> Reach:
    """The same, with everything answered by a mock; hosts that were granted are mocked as well."""
    answers = read_mocks(mock) if isinstance(mock, str) else ()
    return replace(reach, hosts=(), credentials=(), mock=True, mocks=answers)


def _answer(path: str, node: yaml.Node) -> MockedAnswer:
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(path, node, "an answer is keys with values")
    found: dict[str, object] = {}
    for key, value in node.value:
        name = str(key.value)
        if name not in KEYS:
            raise UnknownKey(
                Message("unknown key {name}", name=repr(name)),
                location=_place(path, key),
                hint=_hint(),
            )
        if name in found:
            raise _wrong(path, key, Message("{name} is given twice", name=name))
        found[name] = _value(path, name, value)
    body = found.pop("body", None)
    headers = found.pop("headers", ())
    assert isinstance(headers, tuple)
    as_json = body is not None and not isinstance(body, str)
    if as_json and not any(name.lower() == "content-type" for name, _ in headers):
        headers = (*headers, ("content-type", "application/json"))
    try:
        text = json.dumps(body) + "\n" if as_json else str(body or "")
        data = text.encode()
    except (TypeError, ValueError):
        raise _wrong(path, node, "this body has no form in JSON or in UTF-8") from None
    return MockedAnswer(headers=headers, body=data, **found)  # type: ignore[arg-type]


def _value(path: str, name: str, node: yaml.Node) -> object:
    given = _plain(path, node)
    if name == "body":
        return given
    if name == "status":
        if type(given) is not int or not 200 <= given <= 599:
            raise _wrong(path, node, "a status is a number from 200 to 599")
        return given
    if name == "headers":
        if not isinstance(given, dict):
            raise _wrong(path, node, "headers are names with values")
        return tuple(_header(path, node, str(key), str(value)) for key, value in given.items())
    if not isinstance(given, str) or not given:
        raise _wrong(path, node, Message("{name} is a text", name=name))
    if name == "method":
        if not (given.isascii() and given.isalpha()):
            raise _wrong(path, node, Message("{given} is no method", given=repr(given)))
        return given.upper()
    if name == "host":
        star = "*." if given.startswith("*.") else ""
        host = normal(given.removeprefix("*."))
        if not host:
            raise _wrong(path, node, Message("{given} is no host", given=repr(given)))
        return star + host
    if not given.startswith("/"):
        raise _wrong(path, node, "a path starts with /")
    return given


def _header(path: str, node: yaml.Node, name: str, value: str) -> tuple[str, str]:
    token = name.replace("-", "").replace("_", "")
    if not (token.isascii() and token.isalnum()):
        raise _wrong(path, node, Message("{name} is no header", name=repr(name)))
    if name.lower() in ("content-length", "transfer-encoding", "connection"):
        raise _wrong(path, node, Message("{name} is set by the mock itself", name=name))
    if not value.isascii() or not value.isprintable():
        raise _wrong(path, node, Message("the value of {name} is not plain ASCII", name=name))
    return name, value


def _plain(path: str, node: yaml.Node) -> Any:
    """A value without tags of anybody's own: texts, numbers, lists, mappings."""
    try:
        return yaml.SafeLoader.construct_object(_loader(), node, deep=True)
    except (yaml.YAMLError, ValueError, TypeError):
        raise _wrong(path, node, "this is no plain value") from None


def _loader() -> yaml.SafeLoader:
    return yaml.SafeLoader("")


def _wrong(path: str, node: yaml.Node, what: str) -> PolicySyntax:
    return PolicySyntax(what, location=_place(path, node), hint=_hint())


def _place(path: str, node: yaml.Node) -> str:
    return f"{path}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _hint() -> str:
    return Message("an answer has the keys {keys}", keys=", ".join(KEYS))
