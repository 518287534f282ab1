"""Whether a component may run: its text, its tree, and the marks that it carries."""

from __future__ import annotations

import ast
import re

from redoma.judge.languages.component.walk import ComponentWalk
from redoma.judge.languages.python.source import parsed
from redoma.judge.text.deception import deceptions
from redoma.model.arguments import WrongType, shown, texts
from redoma.model.component import Problem, Validation
from redoma.model.message import Message

SIGNATURE = "modulo_autopoiesis_data_"
MARK = "_generated_in_sandbox"
MOST_CHARACTERS = 1 << 18
MOST_NODES = 50_000
MOST_PROBLEMS = 100
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF8 = frozenset(("utf-8", "utf8", "utf_8"))
_DECEIVING = {
    "bidi": "a sign that turns the direction of the text shows other code than runs",
    "hidden": "a character that nobody sees",
    "lookalike": "letters of two alphabets in one word look like another word",
    "control": "a control character",
    "escape": "a control character",
    "invalid": "half of a character",
    "carriage-return": "a carriage return hides what stands before it",
    "nul": "a NUL character",
}


def validate_component(code: str, *, modules: tuple[str, ...] = ()) -> Validation:
    """Everything that keeps a component from running; whatever the text, it never raises.

    `modules` are those that it may use beside the ones that are known as harmless.
    """
    modules = texts("modules", modules, "module names")
    if not isinstance(code, str):
        raise WrongType(Message("code: a text is needed, not {code}", code=shown(code)))
    if len(code) > MOST_CHARACTERS:
        return _only(Problem(line=1, column=1, reason="the component is too large to be read"))
    text = code.replace("\r\n", "\n")
    problems = _in_the_text(text)
    if problems:
        return Validation(problems=tuple(problems))
    tree = _parsed(text)
    if isinstance(tree, Validation):
        return tree
    found = _Found(text)
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        return _only(Problem(line=1, column=1, reason="the component is too large to be read"))
    ComponentWalk(tree, frozenset(modules), found.refuse).all()
    for node, reason in missing_marks(tree):
        found.refuse(node, reason)
    return Validation(problems=found.in_order())


validate_component.__module__ = "redoma"


def _only(problem: Problem, *, syntax_error: bool = False) -> Validation:
    return Validation(problems=(problem,), syntax_error=syntax_error)


def _in_the_text(text: str) -> list[Problem]:
    problems = []
    for number, line in enumerate(re.split(r"[\n\r\f\v]", text)[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].lower() not in _UTF8:
            # Attack: what is read here as UTF-8 is run as UTF-7 or rot13, and is other code there.
            reason = Message(
                "the component is to be read as {encoding}, and only UTF-8 is",
                encoding=cookie[1][:40],
            )
            problems.append(Problem(line=number, column=cookie.start(1) + 1, reason=reason))
    for fact in deceptions(text):
        deceives = _DECEIVING.get(fact.detail, "")
        if deceives and fact.span is not None:
            at = fact.span[0]
            line = text.count("\n", 0, at) + 1
            column = at - (text.rfind("\n", 0, at) + 1) + 1
            problems.append(Problem(line=line, column=column, reason=deceives))
    return problems


def _parsed(text: str) -> ast.Module | Validation:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" is a matter of taste, and no error
            return parsed(text)
    except SyntaxError as error:
        reason = Message("it is not Python: {what}", what=error.msg)
        where = Problem(line=error.lineno or 1, column=max(error.offset or 1, 1), reason=reason)
        return _only(where, syntax_error=True)
    except (ValueError, RecursionError, MemoryError, OverflowError, SystemError) as error:
        reason = Message("it cannot be read: {why}", why=str(error) or type(error).__name__)
        return _only(Problem(line=1, column=1, reason=reason), syntax_error=True)


class _Found:
    """Problems so far, each at its place once."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._problems: dict[Problem, None] = {}

    def refuse(self, node: ast.AST | None, reason: str, /, **values: object) -> None:
        line = getattr(node, "lineno", 1)
        offset = getattr(node, "col_offset", 0)
        # Offsets count bytes; people count characters.
        written = self._lines[line - 1] if line <= len(self._lines) else ""
        column = len(written.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1
        self._problems[Problem(line=line, column=column, reason=Message(reason, **values))] = None

    def in_order(self) -> tuple[Problem, ...]:
        ordered = sorted(self._problems, key=lambda each: (each.line, each.column))
        return tuple(ordered[:MOST_PROBLEMS])


def missing_marks(tree: ast.Module) -> list[tuple[ast.AST | None, str]]:
    """What the component lacks, each with where it stands if it is there and wrong."""
    signed = False
    marks: list[tuple[ast.AST, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            signed |= _is_signature(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            for name in filter(None, map(_name, targets)):
                signed |= _is_signature(name) or _is_signature(value)
                if name == MARK:
                    marks.append((node, value is True))
    found: list[tuple[ast.AST | None, str]] = []
    if not signed:
        found.append(
            (None, Message("the security signature {signature}… is missing", signature=SIGNATURE))
        )
    if not marks:
        found.append((None, Message("the mark {mark} = True is missing", mark=MARK)))
    found += [
        (node, Message("the mark {mark} is not True", mark=MARK))
        for node, true in marks
        if not true
    ]
    return found


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else ""


def _is_signature(value: object) -> bool:
    rest = value[len(SIGNATURE) :] if isinstance(value, str) else ""
    return isinstance(value, str) and value.startswith(SIGNATURE) and rest.isidentifier()
