"""Every message that a person may read, as the source says it: what the catalogues must hold.

What counts is decided by where and how a text stands. In the rooms that speak to people every text
of two words or more is a message; in the judge, whose tables are full of programs' words, one that
reads like a sentence; anywhere, what is handed to `phrased` and what an error of ours says. Not
counted are texts that are compared, searched, split or executed, and the few listed by name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import yaml

from redoma.audit.verification import Wrong
from redoma.cli.run_options import LIMITS
from redoma.i18n.catalogue import HOLE as NAMED
from redoma.i18n.catalogue import LIBRARY, place_of
from redoma.i18n.po_file import PoEntry, read, written
from redoma.i18n.template_search import HOLE
from redoma.model import errors
from redoma.model.change import Did, FileKind, Shows, Standing
from redoma.model.decision import Risk, Verdict
from redoma.model.grant import Guarantee
from redoma.model.request import Choice
from redoma.model.result import Outcome
from tests.house.exceptions_of_messages import CODE, MODULES_WITHOUT, NOT_MESSAGES
from tests.house.tree import PACKAGE, modules, tree_of

TWO_WORDS = re.compile(
    r"[^\W\d_]{2,}[,;:.]? [(`']?[^\W\d_]{2,}|\{\d+\} [a-z]{2,}|[a-z]{2,} \{\d+\}|[a-z]: \{\d+\}"
)
SENTENCE = re.compile(r"\b(a|an|the|no|not|that|what|without|is|are|nothing|something|never|too)\b")
COMMAND = re.compile(
    r"(sudo |docker |podman |pip |chmod |chown |export |npm |git |cargo |twine )[^#;,]*"
    r"|--[a-z-]+ [a-z0-9.:]+"
    r"|(redoma( [a-z|-]+){1,3}|--[a-z-]+)( (\[.*|\{\d+\}|[A-Z][A-Z|]*(…|\.\.\.)?|-.*|'.*'|\".*\"))*"
)
SQL = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|WHERE|ORDER|AND|BEGIN) ")
# What these are given is looked for, taken apart or started, and not shown.
UNREAD_CALLS = {
    *("split", "startswith", "endswith", "removeprefix", "removesuffix", "partition"),
    *("rpartition", "compile", "match", "search", "fullmatch", "sub", "execute", "find"),
    *("getattr", "hasattr", "index", "NewType"),
    *("TypeError", "AttributeError", "AssertionError", "KeyError", "NotImplementedError"),
}
# Words that stand alone in a table or a list, and are handed to `phrased` from there.
SINGLE_WORDS = (
    *("why", "touches", "files", "effect", "instead", "in", "asked", "before", "policy"),
    *("allowed", "denied", "approved", "deny", "interrupted", "dry_run"),
    *("judged", "refused", "runs", "entries", "95 % within"),
    *("installed", "unreadable", "this caller", "this session"),
    *("deletes", "writes", "publishes", "installs", "changes a database", "it", "this"),
    *("once", "session", "exact", "prefix", "works"),
    *("{0} is a text", "{0} is true or false", "done-before", "a plan", "{0} needs {1}"),
)
LINES = {"lines", "made", "shown"}
# The rows of a command's table: from which argument on, and by which names, they speak to people.
ROWS = {"Option": 1, "Argument": 1, "Sample": 1, "Heading": 0, "CommandTable": 1, "subcommand": 2}
SPOKEN_PARTS = {"notes", "status", "stray"}
TAKEN_APART = {"join", "replace", "get", "pop", "setdefault"}
ERRORS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.RedomaError)
}
ALWAYS = {"phrased", "Message", *ERRORS}


@cache
def plain_errors() -> frozenset[str]:
    """The errors that take a template and its values as `Message` does."""
    every, found = [errors.RedomaError], set()
    while every:
        kind = every.pop()
        every += kind.__subclasses__()
        if kind.__init__ is errors.RedomaError.__init__:
            found.add(kind.__name__)
    return frozenset(found)


@cache
def messages() -> dict[str, str]:
    """Every message in English, with the first place where it stands."""
    excepted = NOT_MESSAGES | {""}
    return {t: w for t, w in texts().items() if t not in excepted and not CODE.match(t)}


@cache
def texts() -> dict[str, str]:
    """Every text that looks like a message, the exceptions among them."""
    found: dict[str, str] = {}
    for where, text in _all():
        found.setdefault(text, where)
    return found


def _all() -> Iterator[tuple[str, str]]:
    for module, path in modules().items():
        if module.startswith(MODULES_WITHOUT):
            continue
        place = str(path.relative_to(PACKAGE))
        for line, text in _of_module(module, tree_of(path)):
            yield f"{place}:{line}", text
    for path in sorted((PACKAGE / "judge/rules").rglob("*.yaml")):
        place = f"rules/{path.parent.name}/{path.name}"
        for text in _of_rules(path):
            yield place, text
    for label in _labels():
        yield "labels", label


def _labels() -> Iterator[str]:
    yield from (risk.label for risk in Risk)
    yield from (verdict.label for verdict in Verdict)
    yield from (guarantee.words for guarantee in Guarantee)
    yield from (outcome.words for outcome in Outcome)
    for kind in (Choice, Did, FileKind, Shows, Standing, Wrong):
        yield from (each.value.replace("_", " ") for each in kind)
    yield from (limit.replace("_", " ") for limit in LIMITS.values())
    yield from SINGLE_WORDS


def _of_rules(path: Path) -> Iterator[str]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if isinstance(content, dict):
        yield from (str(level) for level in (content.get("levels") or {}).values())
        return
    for rule in content or ():
        for key in ("reason", "alternative"):
            if rule.get(key):
                yield str(rule[key])


def _numbered(text: str) -> str:
    """The text with its holes `{}` numbered; holes that touch are one."""
    count = iter(range(100))
    return re.sub(r"(\{\})+", lambda _: f"{{{next(count)}}}", text).strip()


@cache
def plurals() -> dict[str, str]:
    """The messages that count something, with their English for every count but one."""
    made = (made for path in modules().values() for made in _made(tree_of(path)))
    return {english: many for _, english, many in made if many}


def _made(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """What is said with named values: the line, the template, and the one for many."""
    for node in ast.walk(tree):
        templates = _given(node) if isinstance(node, ast.Call) else []
        if templates:
            one, many = (*(str(ast.literal_eval(t)).strip() for t in templates), "")[:2]
            if re.search(r"[^\W\d_]{2}", NAMED.sub("", one)):
                yield node.lineno, one, many


def _given(call: ast.Call) -> list[ast.expr]:
    """The templates that a call is given together with their values, whatever it is called."""
    names = {each.arg for each in call.keywords}
    if ast.unparse(call.func) == "Message.counted":
        return call.args[:2]
    return [
        each
        for each in call.args
        if isinstance(each, ast.Constant)
        and isinstance(each.value, str)
        and NAMED.search(each.value)
        and {hole[1] for hole in NAMED.finditer(each.value) if hole[1]} <= names
    ]


def _of_module(module: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    yield from ((line, english) for line, english, _ in _made(tree))
    judge = module.startswith("redoma.judge") and not module.startswith("redoma.judge.policy")
    for node, always in _strings(tree):
        for template in _templates(node):
            text = _numbered(template)
            words = re.sub(r"\bredoma\b", "", HOLE.sub("", text), flags=re.IGNORECASE)
            if not re.search(r"[^\W\d_]{2}", words) or COMMAND.fullmatch(text) or SQL.match(text):
                continue
            spoken = TWO_WORDS.search(text) and (not judge or SENTENCE.search(words))
            if always or spoken:
                yield node.lineno, text


def _strings(node: ast.AST, always: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """Every expression that makes a text, and whether it is one for people by its place."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.expr) and _makes_text(node):
        yield node, always
        for part in ast.walk(node):
            if isinstance(part, ast.FormattedValue):
                for inner in _nested(part.value):
                    yield from _strings(inner)
        return
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in UNREAD_CALLS or _is_log(node.func):
            return
        if _given(node):
            for child in set(ast.iter_child_nodes(node)).difference(_given(node)):
                yield from _strings(child)
            return
        if name in ROWS:
            yield from _of_rows(node, ROWS[name])
            return
        if name in TAKEN_APART:
            # Only what is looked up or joined by is no message; what stands beside it may be one.
            looked = (node.func,) if name == "replace" else ()
            for child in (*node.args[0 if name == "join" else 1 :], *looked):
                yield from _strings(child)
            return
        for child in ast.iter_child_nodes(node):
            shown = not isinstance(child, ast.keyword) or child.arg in ("hint", "message")
            yield from _strings(child, name in ALWAYS and shown)
        return
    for child in ast.iter_child_nodes(node):
        looked_up = isinstance(node, ast.Compare | ast.Subscript)
        if looked_up and isinstance(child, ast.Constant | ast.Tuple | ast.Set | ast.List):
            continue
        if isinstance(node, ast.Dict) and child in node.keys:
            continue
        inside = isinstance(node, ast.IfExp | ast.BoolOp | ast.keyword | ast.Starred)
        yield from _strings(child, always and inside)


def _is_log(function: ast.expr) -> bool:
    """Whether a call writes to the operator's log, which is English."""
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("debug", "info", "warning")
        and isinstance(function.value, ast.Name)
        and function.value.id in ("log", "operator")
    )


def _of_rows(row: ast.Call, first: int) -> Iterator[tuple[ast.expr, bool]]:
    """What a row of a command's table says to people, and not how its option is spelled."""
    for child in row.args[first:]:
        yield from _strings(child, True)
    for part in row.keywords:
        parts = part.value.elts if isinstance(part.value, ast.Tuple) else [part.value]
        if part.arg in SPOKEN_PARTS or not all(_makes_text(each) for each in parts):
            for child in parts:
                yield from _strings(child, part.arg in SPOKEN_PARTS)


def written_plainly(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts that go to a stream, a list of lines or a reader as they are, past `phrased`."""
    for node in ast.walk(tree):
        given: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            to_lines = node.func.attr == "append" and ast.unparse(node.func.value) in LINES
            given = node.args if to_lines or node.func.attr in ("write", "_write", "_end") else []
        elif isinstance(node, ast.Yield) and node.value is not None:
            given = [node.value]
        for each in given:
            if _makes_text(each):
                yield from ((node.lineno, _numbered(text)) for text in _templates(each))


def _nested(value: ast.expr) -> Iterator[ast.AST]:
    """What of a hole is looked into; texts that `_templates` has put in its place are not."""
    if isinstance(value, ast.IfExp):
        yield from (b for b in (value.body, value.orelse) if not _makes_text(b))
    elif isinstance(value, ast.BoolOp):
        yield from (v for v in value.values if not _makes_text(v))
    else:
        yield value


def _makes_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _makes_text(node.left) or _makes_text(node.right)
    return isinstance(node, ast.JoinedStr)


def _templates(node: ast.expr) -> list[str]:
    """The texts that an expression can make, with `{}` for what is not known here."""
    parts = list(_parts(node))
    tests = list(dict.fromkeys(test for test, _ in parts if test))
    made = []
    for choice in product((0, 1), repeat=len(tests)):
        taken = dict(zip(tests, choice, strict=True))
        made.append("".join(texts[taken.get(test, 0)] for test, texts in parts))
    return list(dict.fromkeys(made))


def _parts(node: ast.expr) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Piece by piece: the condition that chooses, and the texts it chooses from."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield "", (node.value,)
    elif isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _parts(value)
    elif isinstance(node, ast.BinOp) and _makes_text(node):
        yield from _parts(node.left)
        yield from _parts(node.right)
    elif isinstance(node, ast.FormattedValue) and node.format_spec is None:
        yield from _parts(node.value)
    elif isinstance(node, ast.IfExp) and (_makes_text(node.body) or _makes_text(node.orelse)):
        yield ast.dump(node.test), (_only(node.body), _only(node.orelse))
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        yield ast.dump(node), tuple(_only(v) for v in (node.values[0], node.values[-1]))
    else:
        yield "", ("{}",)


def _only(node: ast.expr) -> str:
    return _templates(node)[0] if _makes_text(node) else "{}"


def catalogue() -> str:
    """The Portuguese catalogue as it should be: every message once, with where it stands.

    What is new has no translation yet, and what nobody says any more is gone.
    """
    kept = {(e.context, e.english): e for e in _read_whole()}
    ours = [
        PoEntry(
            english=text,
            foreign=kept[("", text)].foreign if ("", text) in kept else "",
            many=plurals().get(text, ""),
            more=kept[("", text)].more if ("", text) in kept else ("",),
            places=(where.partition(":")[0],),
        )
        for text, where in messages().items()
    ]
    ours.sort(key=lambda entry: (entry.places, entry.english))
    libraries = [entry for entry in kept.values() if entry.context == LIBRARY]
    return written("pt_BR", [*ours, *libraries])


def _read_whole() -> list[PoEntry]:
    return list(read(Path(place_of("pt-BR")).read_text(encoding="utf-8")))


def main() -> int:
    """Brings the catalogue up to date and names what lacks its translation; 1 where anything does.

    A translator fills in each empty `msgstr`.
    """
    Path(place_of("pt-BR")).write_text(catalogue(), encoding="utf-8")
    missing = [entry for entry in _read_whole() if not entry.foreign]
    for entry in missing:
        print(f"{entry.places[0]}: {entry.english}")
    return 1 if missing else 0


if __name__ == "__main__":
    import sys

    sys.exit(main())
