"""Reads a `sandbox.yaml`: every value checked, every error with its line and column."""

from __future__ import annotations

from redoma.base.levels import LEVELS
from redoma.judge.policy.conditions import ConditionError, clause, parse
from redoma.judge.policy.patterns import expression_problem, host_problem, request_of
from redoma.judge.policy.schema import (
    ACTIONS,
    EXPECTED,
    KEYS,
    RULE_KEYS,
    TEST_KEYS,
    WRAPPED,
    PolicyKey,
)
from redoma.judge.policy.tree import hint_at, tree
from redoma.judge.text.spelling import did_you_mean, nearest
from redoma.model.errors import UnknownKey
from redoma.model.grant import Limits
from redoma.model.policy import ISOLATION_ONLY
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.judge.policy.tree import Piece

_SHELL = frozenset("|&;<>()$`\\\"'*?[]{}!\n")
MOST_ENTRIES = 1000
LONGEST_GRANT = 4096


class PolicyLayer(Value):
    """One file as read: its values by key, and where each stands. Plain data, ready to be kept."""

    path: str
    origin: str
    values: dict[str, Any]
    at: dict[str, str]
    # Of the very bytes that were read.
    digest: str = ""

    def place(self, key: str) -> str:
        """`file:line:column` of a key."""
        return f"{self.path}:{self.at[key]}" if key in self.at else self.path


def read(text: str | bytes, *, path: str, origin: str = "user") -> PolicyLayer:
    """A layer, or an error that says what to change and where."""
    from hashlib import sha256

    content = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    digest = sha256(content).hexdigest()
    layer = PolicyLayer(path=path, origin=origin, values={}, at={}, digest=digest)
    _read_keys(tree(text, path), layer, "")
    return layer


def _read_keys(section: Piece, layer: PolicyLayer, above: str) -> None:
    start = f"{above}." if above else ""
    known = [name for name in (*KEYS, *WRAPPED) if name.startswith(start)]
    wanted = dict.fromkeys(name[len(start) :].partition(".")[0] for name in known)
    for name, (key, value) in section.pairs().items():
        if name not in wanted:
            raise _unknown_key(name, key.place(), start, list(wanted))
        full = start + name
        if full not in KEYS and full not in WRAPPED:
            _read_keys(value.called(full), layer, full)
            continue
        full = WRAPPED.get(full, full)
        if full in layer.values:
            raise key.wrong(f"{full} is given twice, also at {layer.path}:{layer.at[full]}")
        layer.values[full] = _value(value.called(full), KEYS[full])
        layer.at[full] = key.place()[len(layer.path) + 1 :]


def _unknown_key(name: str, place: str, start: str, wanted: list[str]) -> UnknownKey:
    near = nearest(name, wanted)
    elsewhere = next((k for k in KEYS if k.endswith(f".{name}") or (k == name and start)), "")
    hint = did_you_mean(start + near if near else elsewhere, "keys here: " + ", ".join(wanted))
    return UnknownKey(f"unknown key {start}{name}", location=place, hint=hint)


def _value(piece: Piece, key: PolicyKey) -> Any:
    one = _ONE.get(key.kind)
    if one is not None:
        return one(piece, key)
    entries = piece.items()
    if len(entries) > MOST_ENTRIES:
        raise piece.wrong(f"{piece.name} has more than {MOST_ENTRIES} entries")
    found = tuple(_EACH[key.kind](entry, key) for entry in entries)
    if key.kind == "rules":
        names = [rule[0] for rule in found]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise entries[place].wrong(f"there is a rule {name} already")
    return tuple(dict.fromkeys(found))


def _choice(piece: Piece, key: PolicyKey) -> str:
    if piece.name == "confirmation.default_action" and piece.scalar() == "approve":
        raise piece.wrong("silence is never a yes", "default_action: deny")
    return piece.one_of(key.choices)


def _flag(piece: Piece, _key: PolicyKey) -> bool:
    text = piece.plain()
    if text.lower() not in ("true", "false"):
        raise piece.wrong(f"{piece.name} is true or false, not {text!r}")
    return text.lower() == "true"


def _integer(piece: Piece, key: PolicyKey) -> int:
    text = piece.plain().replace("_", "")
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        raise piece.wrong(f"{piece.name} is a whole number, not {text!r}")
    return int(_bounded(piece, key, int(text)))


def _number(piece: Piece, key: PolicyKey) -> float:
    text = piece.plain()
    digits = text.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()) or len(text) > 20:
        raise piece.wrong(f"{piece.name} is a number of seconds, not {text!r}")
    if not float(text):
        raise piece.wrong(f"{piece.name} is more than 0")
    return _bounded(piece, key, float(text))


def _bounded(piece: Piece, key: PolicyKey, number: float) -> float:
    if not key.least <= number <= key.most:
        raise piece.wrong(f"{piece.name} lies between {key.least} and {key.most}")
    return number


def _policy(piece: Piece, key: PolicyKey) -> tuple[Any, ...]:
    if not piece.is_mapping:
        text = piece.scalar()
        if text not in key.choices:
            known = hint_at(text, key.choices)
            raise piece.wrong(f"there is no policy {text!r}", f"{known}; or write your own")
        return (text,)
    own = piece.fields(
        ("name", "rules"), lambda inner: f"unknown key policy.{inner}", "keys: name, rules"
    )
    name = own["name"].called("policy.name").scalar() if "name" in own else ""
    rules: tuple[Any, ...] = ()
    if "rules" in own:
        rules = _value(own["rules"].called("policy.rules"), KEYS["rules"])
    if not name or not rules:
        raise piece.wrong("a policy of your own has a name and at least one rule")
    if name == ISOLATION_ONLY:
        raise piece.wrong(f"{ISOLATION_ONLY} is the name of a shipped policy")
    return (name, rules)


def _rule(piece: Piece, _key: PolicyKey) -> tuple[Any, ...]:
    found: dict[str, Any] = {}
    fields = piece.called("a rule").fields(RULE_KEYS, lambda k: f"unknown key {k} in a rule")
    for inner, value in fields.items():
        found[inner] = text = value.scalar()
        if inner == "action" and text not in ACTIONS:
            raise value.wrong(f"there is no action {text!r}", hint_at(text, ACTIONS))
        if inner == "condition":
            found["tree"] = _condition(value, text, parse)
    missing = [inner for inner in RULE_KEYS if not found.get(inner)]
    if missing:
        raise piece.wrong(f"a rule has a {' and a '.join(missing)}")
    return (found["name"], found["condition"], found["tree"], found["action"])


def _condition(piece: Piece, text: str, parser: Callable[[str], Any]) -> Any:
    try:
        return parser(text)
    except ConditionError as error:
        raise piece.wrong(str(error), error.hint, error.at) from None


def _clause(piece: Piece, _key: PolicyKey) -> tuple[str, Any]:
    text = piece.scalar()
    return (text, _condition(piece, text, clause))


def _command(piece: Piece, _key: PolicyKey) -> tuple[str, ...]:
    text = piece.scalar()
    if not text.split() or not _SHELL.isdisjoint(text):
        what = f"{piece.name}: {text!r} is not the plain words of one command"
        raise piece.wrong(what, "npm run lint")
    return tuple(text.split())


def _block(piece: Piece, _key: PolicyKey) -> str:
    text = piece.scalar()
    problem = expression_problem(text) if text.strip() else "is empty"
    if problem:
        raise piece.wrong(f"{piece.name}: {text!r} {problem}")
    return text


def _path(piece: Piece, _key: PolicyKey) -> str:
    text, name = piece.scalar(), piece.name
    if "$" in text.replace("${PROJECT_ROOT}", "", 1):
        what = f"{name}: only ${{PROJECT_ROOT}} and ~ are replaced"
        raise piece.wrong(what, "${PROJECT_ROOT}")
    if ".." in text.split("/") or not text.strip() or "\n" in text:
        raise piece.wrong(f"{name}: {text!r} is no plain path")
    if text.startswith("~") and not text.startswith("~/") and text != "~":
        raise piece.wrong(f"{name}: only your own home can be meant", "~/…")
    if name.endswith("allowed_paths") and text in ("/", "/*", "/**", "**"):
        raise piece.wrong(f"{name}: {text!r} would allow everything")
    return text


def _name(piece: Piece, _key: PolicyKey) -> str:
    text = piece.scalar()
    parts = text.rstrip("/").split("/")
    plain = all(part and part not in (".", "..", "*") and "\n" not in part for part in parts)
    stars = text.count("*")
    if not plain or stars > 1 or (stars and not (len(parts) == 1 and text.startswith("*."))):
        hint = "deploy.sh, secrets/, ci/run.sh or *.tf"
        raise piece.wrong(f"{piece.name}: {text!r} is no name", hint)
    return text


def _secret(piece: Piece, _key: PolicyKey) -> str:
    text = piece.scalar()
    if not text or not text.replace("*", "a").replace(".", "a").replace("-", "a").isidentifier():
        raise piece.wrong(f"{piece.name}: {text!r} is no name of a secret", "github, npm_* or *")
    return text


def _host(piece: Piece, _key: PolicyKey) -> str:
    text = piece.scalar()
    problem = host_problem(text)
    if problem:
        raise piece.wrong(f"{piece.name}: {text!r} {problem}", "github.com, *.example.org")
    methods, host, place = request_of(text)
    return f"{','.join(methods)} {host}{place}".strip()


def _header(piece: Piece, _key: PolicyKey) -> str:
    text = piece.scalar()
    if not text or len(text) > 100 or not (text.replace("-", "").isalnum() and text.isascii()):
        raise piece.wrong(f"{piece.name} cannot be {text!r}", "the name of a header, as X-Run-Id")
    return text.lower()


def _phases(piece: Piece, _key: PolicyKey) -> tuple[tuple[str, str], ...]:
    found = []
    for phase, (_, value) in piece.pairs().items():
        level = value.called(f"{piece.name}.{phase}").scalar()
        if level not in LEVELS and not level.endswith((".yaml", ".yml")):
            hint = hint_at(level, LEVELS) + ", or the file of a profile"
            raise value.wrong(f"{piece.name}.{phase} cannot be {level!r}", hint)
        found.append((phase, level))
    return tuple(found)


def _grant(piece: Piece, _key: PolicyKey) -> str:
    text = piece.scalar().strip()
    if not text or len(text) > LONGEST_GRANT or not text.isprintable():
        raise piece.wrong(f"{piece.name}: {text[:40]!r} cannot be granted")
    kind = piece.name.rpartition(".")[2]
    if kind == "credentials" and "=" not in text:
        raise piece.wrong(f"{piece.name}: {text!r} names no secret", "HOST=vault:NAME")
    if kind == "hosts" and not text.startswith("tool:"):
        host = text.partition("=")[0]
        name, _, port = host.rpartition(":")
        problem = host_problem(name if port.isdigit() or port == "*" else host)
        if problem:
            raise piece.wrong(f"{piece.name}: {text!r} {problem}", "github.com, *.example.org")
    return text


def _limits(piece: Piece, _key: PolicyKey) -> tuple[tuple[str, str], ...]:
    known = Limits._fields
    found = piece.fields(known, lambda name: f"there is no limit {name}")
    return tuple(
        (name, value.called(f"{piece.name}.{name}").scalar()) for name, value in found.items()
    )


def _test(piece: Piece, _key: PolicyKey) -> tuple[str, ...]:
    found: dict[str, str] = {}
    fields = piece.called("a test").fields(TEST_KEYS, lambda k: f"unknown key {k} in a test")
    for inner, value in fields.items():
        found[inner] = value.called(f"{piece.name}.{inner}").scalar()
        known = {"expect": EXPECTED, "isolation": LEVELS}.get(inner, ())
        if known:
            value.one_of(known)
    if not found.get("command") or not found.get("expect"):
        raise piece.wrong("a test has a command and what to expect")
    return (*(found.get(inner, "") for inner in TEST_KEYS), piece.place())


_ONE: dict[str, Callable[[Piece, PolicyKey], Any]] = {
    "choice": _choice,
    "flag": _flag,
    "integer": _integer,
    "number": _number,
    "policy": _policy,
    "phases": _phases,
    "limits": _limits,
}
_EACH: dict[str, Callable[[Piece, PolicyKey], Any]] = {
    "rules": _rule,
    "clauses": _clause,
    "commands": _command,
    "blocks": _block,
    "paths": _path,
    "hosts": _host,
    "grants": _grant,
    "names": _name,
    "secrets": _secret,
    "headers": _header,
    "ports": _integer,
    "choices": _choice,
    "tests": _test,
}
