"""The language of conditions: read into a tree, never evaluated as code.

::

    condition  = and-part { "or" and-part }
    and-part   = not-part { "and" not-part }
    not-part   = "not" not-part | "(" condition ")" | comparison
    comparison = name | name ("==" | "!=" | "<" | "<=" | ">" | ">=") value
               | name ["not"] "in" "[" value { "," value } "]"

A name such as `path` has several values for one line of shell. A rule that tightens holds when
some value fits, a rule that allows only when every value does; so what is not known never allows.
"""

from __future__ import annotations

import re

from redoma.judge.text.spelling import did_you_mean, nearest
from redoma.model.decision import Effect, Risk
from redoma.model.policy import Environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.policy.subject import Subject
    from redoma.model.policy import Tree

LEVELS = tuple(risk.label for risk in Risk)
EFFECTS = tuple(effect.value for effect in Effect if effect is not Effect.CALLS)
ENVIRONMENTS = tuple(each.label for each in Environment)
# Each name with the values it can have; () is any text, None is yes or no.
NAMES: dict[str, tuple[str, ...] | None] = {
    "safety_level": LEVELS,
    "effects": EFFECTS,
    "program": (),
    "path": (),
    "host": (),
    "profile": (),
    "phase": (),
    "environment": ENVIRONMENTS,
    "workspace": (),
    "files_affected": (),
    "multiple_files": None,
    "external_network": None,
    "first_execution": None,
}
ORDERED = frozenset(("safety_level", "environment", "files_affected"))
_ORDER = frozenset(("<", "<=", ">", ">="))
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<sign>==|!=|<=|>=|[<>()\[\],])"""
    r"""|(?P<word>[^\s()\[\],=!<>"']+)|(?P<bad>\S))"""
)
DEEPEST = 32
LONGEST = 4096
# The sentences that lists of a policy may use instead of a condition, and what they mean.
PHRASES = {
    **{level: f"safety_level == {level}" for level in LEVELS},
    "multiple files": "multiple_files",
    "operations affecting multiple files": "multiple_files",
    "external network": "external_network",
    "network operations to external hosts": "external_network",
    "schema changes": "effects == schema-change",
    "database schema modifications": "effects == schema-change",
    "publishing": "effects == publishes",
    "deployment": "effects == remote",
    "publishing or deployment operations": "effects in [publishes, remote]",
    "first execution of command": "first_execution",
}
# What the document of the skill wants confirmed.
CONFIRMED_BY_SKILL = (
    *("dangerous", "multiple files", "external network", "schema changes"),
    *("publishing", "deployment"),
)
_LEVEL = re.compile(rf"({'|'.join(LEVELS)})\s*\(if multiple files\)")
_FILES = re.compile(r"commands? affecting\s*(>=|>|more than|at least)\s*(\d{1,9})\s*files?")
_SIGNS = {"more than": ">", "at least": ">="}


class ConditionError(ValueError):
    """A condition that cannot be read: what is wrong, where, and what would be right."""

    def __init__(self, message: str, at: int, hint: str = "") -> None:
        super().__init__(message)
        self.at = at
        self.hint = hint


def parse(text: str) -> Tree:
    """The tree of a condition."""
    if len(text) > LONGEST:
        raise ConditionError(f"a condition has at most {LONGEST} characters", 0)
    reader = _ConditionReader(text)
    tree = reader.either(0)
    if reader.kind:
        raise ConditionError(f"{reader.value!r} is not expected here", reader.at, "and, or")
    return tree


def holds(tree: Tree, seen: Subject) -> tuple[bool, bool]:
    """Whether it holds for some value, and whether for every one."""
    kind = tree[0]
    if kind == "not":
        some, every = holds(tree[1], seen)  # type: ignore[arg-type]
        return not every, not some
    if kind in ("and", "or"):
        parts = [holds(part, seen) for part in tree[1:]]  # type: ignore[arg-type]
        join = all if kind == "and" else any
        return join(some for some, _ in parts), join(every for _, every in parts)
    return seen.fits(str(kind), str(tree[1]), tree[2])  # type: ignore[arg-type]


class _ConditionReader:
    """Reads tokens from left to right; the next one is always known."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.kind = self.value = ""
        self.at = 0
        self.step()

    def step(self) -> None:
        found = _TOKEN.match(self.text, self.place)
        if found is None or found.lastgroup is None:
            self.kind, self.value, self.at = "", "", len(self.text)
            return
        self.kind = found.lastgroup
        self.value, self.at, self.place = found[self.kind], found.start(self.kind), found.end()
        if self.kind == "bad":
            raise ConditionError(f"{self.value!r} has no meaning in a condition", self.at)

    def take(self, value: str) -> bool:
        """Passes over a sign or a word that stands here; whether it did."""
        if self.kind in ("sign", "word") and self.value == value:
            self.step()
            return True
        return False

    def either(self, depth: int) -> Tree:
        return self._joined("or", depth)

    def _joined(self, word: str, depth: int) -> Tree:
        if depth > DEEPEST:
            raise ConditionError("the condition is nested too deeply", self.at)
        inner = self._negated if word == "and" else lambda d: self._joined("and", d)
        parts = [inner(depth)]
        while self.take(word):
            parts.append(inner(depth))
        return parts[0] if len(parts) == 1 else (word, *parts)

    def _negated(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise ConditionError("the condition is nested too deeply", self.at)
        if self.take("not"):
            return ("not", self._negated(depth + 1))
        if self.take("("):
            tree = self.either(depth + 1)
            if not self.take(")"):
                raise ConditionError("a ) is missing", self.at)
            return tree
        return self._comparison()

    def _comparison(self) -> Tree:
        name, at = self.value, self.at
        if self.kind != "word":
            raise ConditionError(
                f"{name!r} is no name" if name else "the condition ends too early",
                at,
                "names: " + ", ".join(NAMES),
            )
        if name not in NAMES:
            raise ConditionError(f"unknown name {name!r}", at, _meant(name, tuple(NAMES)))
        self.step()
        sign, sign_at = self.value, self.at
        if NAMES[name] is None:
            if sign in ("==", "!=", "in"):
                raise ConditionError(f"{name} stands alone: `{name}` or `not {name}`", sign_at)
            return ("==", name, ("yes",))
        if self.take("not"):
            if not self.take("in"):
                raise ConditionError("`not` in a comparison is followed by `in`", self.at)
            return ("not", ("==", name, self._list(name)))
        if self.take("in"):
            return ("==", name, self._list(name))
        if self.kind != "sign" or sign not in ("==", "!=", *_ORDER):
            raise ConditionError(
                f"{name} is compared with ==, !=, in or not in", sign_at, f"{name} == …"
            )
        if sign in _ORDER and name not in ORDERED:
            raise ConditionError(f"{name} has no order", sign_at, f"{name} == … or {name} in [ … ]")
        self.step()
        value = (self._value(name),)
        if sign == "!=":
            return ("not", ("==", name, value))
        return (sign, name, value)

    def _list(self, name: str) -> tuple[str, ...]:
        if not self.take("["):
            raise ConditionError("a list in [ ] is expected", self.at, f"{name} in [one, other]")
        values = [self._value(name)]
        while self.take(","):
            values.append(self._value(name))
        if not self.take("]"):
            raise ConditionError("a ] is missing", self.at)
        return tuple(values)

    def _value(self, name: str) -> str:
        if self.kind not in ("text", "word"):
            raise ConditionError("a value is expected", self.at)
        value = self.value[1:-1] if self.kind == "text" else self.value
        known = NAMES[name]
        if name == "effects":
            value = value.replace("_", "-")
        if known and value not in known:
            raise ConditionError(f"{name} is never {value!r}", self.at, _meant(value, known))
        if name == "files_affected" and not (value.isascii() and value.isdigit()):
            raise ConditionError(f"files_affected is a number, not {value!r}", self.at)
        self.step()
        return value


def _meant(word: str, known: tuple[str, ...]) -> str:
    return did_you_mean(nearest(word, known), "one of: " + ", ".join(known))


def clause(text: str) -> Tree:
    """The condition that a phrase stands for, or that is written out."""
    said = " ".join(text.split())
    known = PHRASES.get(said.lower())
    if known:
        return parse(known)
    found = _LEVEL.fullmatch(said.lower())
    if found:
        return parse(f"safety_level == {found[1]} and multiple_files")
    found = _FILES.fullmatch(said.lower())
    if found:
        return parse(f"files_affected {_SIGNS.get(found[1], found[1])} {found[2]}")
    try:
        return parse(text)
    except ConditionError as error:
        if re.search(r"==|!=|[<>()]|\b(?:in|not|and|or)\b", text):
            raise
        near = nearest(said.lower(), PHRASES)
        hint = did_you_mean(repr(near) if near else "", "one of: " + ", ".join(PHRASES))
        raise ConditionError(f"{said!r} is neither a condition nor known", 0, hint) from error
