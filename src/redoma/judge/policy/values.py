"""The values of each kind of key, checked one by one, as plain data."""

from __future__ import annotations

from redoma.base.levels import LEVELS
from redoma.judge.policy.conditions import ConditionError, parse
from redoma.judge.policy.nodes import items, location, pairs, plain, scalar
from redoma.judge.policy.patterns import expression_problem, host_problem, request_of
from redoma.judge.policy.phrases import clause
from redoma.judge.policy.schema import ACTIONS, EXPECTED, RULE_KEYS, TEST_KEYS, Key
from redoma.model.errors import PolicySyntax, UnknownKey
from redoma.model.policy import ISOLATION_ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import yaml

_SHELL = frozenset("|&;<>()$`\\\"'*?[]{}!\n")
MOST_ENTRIES = 1000


def value_of(path: str, name: str, key: Key, node: yaml.Node) -> Any:
    """The value of a key."""
    one = _ONE.get(key.kind)
    if one is not None:
        return one(path, name, key, node)
    entries = items(path, name, node)
    if len(entries) > MOST_ENTRIES:
        raise PolicySyntax(
            f"{name} has more than {MOST_ENTRIES} entries", location=location(path, node)
        )
    each = _EACH[key.kind]
    found = tuple(each(path, name, key, entry) for entry in entries)
    if key.kind == "rules":
        _distinct(path, entries, [rule[0] for rule in found])
    return tuple(dict.fromkeys(found))


def _wrong(path: str, node: yaml.Node, what: str, hint: str = "", offset: int = 0) -> PolicySyntax:
    return PolicySyntax(what, location=location(path, node, offset), hint=hint)


def _unknown(what: str, path: str, at: yaml.Node, hint: str) -> UnknownKey:
    return UnknownKey(what, location=location(path, at), hint=hint)


def _choice(path: str, name: str, key: Key, node: yaml.Node) -> str:
    text = scalar(path, name, node)
    if name == "confirmation.default_action" and text == "approve":
        raise _wrong(path, node, "silence is never a yes", "default_action: deny")
    if text not in key.choices:
        raise _wrong(path, node, f"{name} cannot be {text!r}", _nearest(text, key.choices))
    return text


def _flag(path: str, name: str, _key: Key, node: yaml.Node) -> bool:
    text = plain(path, name, node)
    if text.lower() not in ("true", "false"):
        raise _wrong(path, node, f"{name} is true or false, not {text!r}")
    return text.lower() == "true"


def _integer(path: str, name: str, key: Key, node: yaml.Node) -> int:
    text = plain(path, name, node).replace("_", "")
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        raise _wrong(path, node, f"{name} is a whole number, not {text!r}")
    return int(_bounded(path, name, key, node, int(text)))


def _number(path: str, name: str, key: Key, node: yaml.Node) -> float:
    text = plain(path, name, node)
    digits = text.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()) or len(text) > 20:
        raise _wrong(path, node, f"{name} is a number of seconds, not {text!r}")
    if not float(text):
        raise _wrong(path, node, f"{name} is more than 0")
    return _bounded(path, name, key, node, float(text))


def _bounded(path: str, name: str, key: Key, node: yaml.Node, number: float) -> float:
    if not key.least <= number <= key.most:
        raise _wrong(path, node, f"{name} lies between {key.least} and {key.most}")
    return number


def _policy(path: str, name: str, key: Key, node: yaml.Node) -> tuple[Any, ...]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        text = scalar(path, name, node)
        if text not in key.choices:
            known = _nearest(text, key.choices)
            raise _wrong(path, node, f"there is no policy {text!r}", f"{known}; or write your own")
        return (text,)
    own: dict[str, Any] = {}
    for inner, at, value in pairs(path, node, name):
        if inner == "name":
            own["name"] = scalar(path, "policy.name", value)
        elif inner == "rules":
            own["rules"] = value_of(
                path, "policy.rules", Key(kind="rules", about="", order=""), value
            )
        else:
            raise UnknownKey(
                f"unknown key policy.{inner}", location=location(path, at), hint="keys: name, rules"
            )
    if not own.get("name") or not own.get("rules"):
        raise _wrong(path, node, "a policy of your own has a name and at least one rule")
    if own["name"] == ISOLATION_ONLY:
        raise _wrong(path, node, f"{ISOLATION_ONLY} is the name of a shipped policy")
    return (own["name"], own["rules"])


def _rule(path: str, _name: str, _key: Key, node: yaml.Node) -> tuple[Any, ...]:
    found: dict[str, Any] = {}
    for inner, at, value in pairs(path, node, "a rule"):
        if inner not in RULE_KEYS:
            raise _unknown(f"unknown key {inner} in a rule", path, at, _nearest(inner, RULE_KEYS))
        text = scalar(path, inner, value)
        if inner == "action" and text not in ACTIONS:
            raise _wrong(path, value, f"there is no action {text!r}", _nearest(text, ACTIONS))
        found[inner] = text
        if inner == "condition":
            found["tree"] = _tree(path, value, text, parse)
    missing = [inner for inner in RULE_KEYS if not found.get(inner)]
    if missing:
        raise _wrong(path, node, f"a rule has a {' and a '.join(missing)}")
    return (found["name"], found["condition"], found["tree"], found["action"])


def _distinct(path: str, entries: list[yaml.Node], names: list[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise _wrong(path, entries[place], f"there is a rule {name} already")


def _tree(path: str, node: yaml.Node, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ConditionError as error:
        raise _wrong(path, node, str(error), error.hint, error.at) from None


def _clause(path: str, name: str, _key: Key, node: yaml.Node) -> tuple[str, Any]:
    text = scalar(path, name, node)
    return (text, _tree(path, node, text, clause))


def _command(path: str, name: str, _key: Key, node: yaml.Node) -> tuple[str, ...]:
    text = scalar(path, name, node)
    if not text.split() or not _SHELL.isdisjoint(text):
        raise _wrong(
            path, node, f"{name}: {text!r} is not the plain words of one command", "npm run lint"
        )
    return tuple(text.split())


def _block(path: str, name: str, _key: Key, node: yaml.Node) -> str:
    text = scalar(path, name, node)
    problem = expression_problem(text) if text.strip() else "is empty"
    if problem:
        raise _wrong(path, node, f"{name}: {text!r} {problem}")
    return text


def _path(path: str, name: str, _key: Key, node: yaml.Node) -> str:
    text = scalar(path, name, node)
    rest = text.replace("${PROJECT_ROOT}", "", 1)
    if "$" in rest:
        raise _wrong(
            path, node, f"{name}: only ${{PROJECT_ROOT}} and ~ are replaced", "${PROJECT_ROOT}"
        )
    if ".." in text.split("/") or not text.strip() or "\n" in text:
        raise _wrong(path, node, f"{name}: {text!r} is no plain path")
    if text.startswith("~") and not text.startswith("~/") and text != "~":
        raise _wrong(path, node, f"{name}: only your own home can be meant", "~/…")
    if name.endswith("allowed_paths") and text in ("/", "/*", "/**", "**"):
        raise _wrong(path, node, f"{name}: {text!r} would allow everything")
    return text


def _name(path: str, name: str, _key: Key, node: yaml.Node) -> str:
    text = scalar(path, name, node)
    parts = text.rstrip("/").split("/")
    plain = all(part and part not in (".", "..", "*") and "\n" not in part for part in parts)
    stars = text.count("*")
    if not plain or stars > 1 or (stars and not (len(parts) == 1 and text.startswith("*."))):
        raise _wrong(
            path, node, f"{name}: {text!r} is no name", "deploy.sh, secrets/, ci/run.sh or *.tf"
        )
    return text


def _host(path: str, name: str, _key: Key, node: yaml.Node) -> str:
    text = scalar(path, name, node)
    problem = host_problem(text)
    if problem:
        raise _wrong(path, node, f"{name}: {text!r} {problem}", "github.com, *.example.org")
    methods, host, place = request_of(text)
    return f"{','.join(methods)} {host}{place}".strip()


def _phases(path: str, name: str, _key: Key, node: yaml.Node) -> tuple[tuple[str, str], ...]:
    found = []
    for phase, _, value in pairs(path, node, name):
        level = scalar(path, f"{name}.{phase}", value)
        if level not in LEVELS and not level.endswith((".yaml", ".yml")):
            hint = _nearest(level, LEVELS) + ", or the file of a profile"
            raise _wrong(path, value, f"{name}.{phase} cannot be {level!r}", hint)
        found.append((phase, level))
    return tuple(found)


def _test(path: str, name: str, _key: Key, node: yaml.Node) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for inner, at, value in pairs(path, node, "a test"):
        if inner not in TEST_KEYS:
            raise _unknown(f"unknown key {inner} in a test", path, at, _nearest(inner, TEST_KEYS))
        found[inner] = scalar(path, f"{name}.{inner}", value)
        known = {"expect": EXPECTED, "isolation": LEVELS}.get(inner, ())
        if known and found[inner] not in known:
            raise _wrong(
                path, value, f"{inner} cannot be {found[inner]!r}", _nearest(found[inner], known)
            )
    if not found.get("command") or not found.get("expect"):
        raise _wrong(path, node, "a test has a command and what to expect")
    place = location(path, node)
    return (*(found.get(inner, "") for inner in TEST_KEYS), place)


def _nearest(word: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    near = near or [each for each in known if word and each.startswith(word)][:1]
    return f"did you mean {near[0]}?" if near else "one of: " + ", ".join(known)


_ONE: dict[str, Callable[[str, str, Key, Any], Any]] = {
    "choice": _choice,
    "flag": _flag,
    "integer": _integer,
    "number": _number,
    "policy": _policy,
    "phases": _phases,
}
_EACH: dict[str, Callable[[str, str, Key, Any], Any]] = {
    "rules": _rule,
    "clauses": _clause,
    "commands": _command,
    "blocks": _block,
    "paths": _path,
    "hosts": _host,
    "names": _name,
    "ports": _integer,
    "choices": _choice,
    "tests": _test,
}
