"""Reads Python code for what it would do, and says it in facts."""

from __future__ import annotations

import ast
from _thread import allocate_lock

from redoma.judge.interpret.arg import NETWORK, SECRET, UNKNOWN, Arg, Stream, arg
from redoma.judge.languages.python.constants import Constants
from redoma.judge.languages.python.effects import PythonEffects
from redoma.judge.languages.python.functions import ENVIRONMENT, FORKS, Aliases
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_one_at_a_time = allocate_lock()
_MOST_TRIES = 20
_STAND_IN = "\ue000"
_UNKNOWN_NAME = "redoma_unknown_"
MOST_NODES = 20_000
_HOLDERS = (
    ast.List | ast.Tuple | ast.Set | ast.Dict | ast.Return | ast.Yield | ast.Lambda | ast.arguments
    | ast.IfExp | ast.BoolOp
)  # fmt: skip
"""Where a function stands that somebody else takes and calls."""


def read_python(call: Invocation, text: Arg) -> Stream:
    """Notes what the code does; gives what it prints where that is plain to see."""
    call.begins_code("python", text)
    tree = _tree_of(str(text)) if UNKNOWN not in text or text.strip(UNKNOWN + " ;\n") else None
    if tree is None:
        call.unknown_code(text.span)
        return Stream(None, text.taint)
    reader = _PythonReader(call, text)
    try:
        reader.body(tree.body)
    except RecursionError:
        call.unknown_code(text.span)
    reader.effects.values.conclude(tree)
    reader.effects.conclude()
    taint = reader.effects.taint | call.stdin.taint | text.taint
    if reader.effects.hosts:
        taint |= NETWORK
    return Stream(_printed(tree, reader.constants), taint, "python")


def parsed(text: str) -> ast.Module:
    """The tree of a text; raises what `ast.parse` raises for one that has none.

    Python 3.11 counts the depth of a tree in one place for all threads: where two read at once, a
    text without any fault can end in a SystemError. The other may be a thread of the caller's.
    """
    with _one_at_a_time:
        for _ in range(_MOST_TRIES - 1):
            try:
                return ast.parse(text)
            except SystemError:
                continue
        return ast.parse(text)


def _tree_of(text: str) -> ast.Module | None:
    for stand_in in (_STAND_IN, _UNKNOWN_NAME):
        try:
            return parsed(text.replace(UNKNOWN, stand_in).strip("\n").expandtabs(8))
        except (SyntaxError, ValueError):
            if UNKNOWN not in text:
                break
        except (RecursionError, MemoryError, SystemError):
            return None
    return None


def _printed(tree: ast.Module, constants: Constants) -> str | None:
    """The output of code that does nothing but print what is known."""
    out: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Assign):
            continue
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            return None
        called = node.value
        name = constants.names.of(called.func)
        if name not in ("print", "sys.stdout.write"):
            return None
        texts = [constants.text(each) for each in called.args]
        end = "\n" if name == "print" else ""
        for keyword in called.keywords:
            if keyword.arg != "end":
                return None
            end = constants.text(keyword.value) or ""
        if any(each is None or UNKNOWN in each for each in texts):
            return None
        out.append(" ".join(str(each) for each in texts) + end)
    return "".join(out) if out else None


class _PythonReader:
    """Walks the statements in their order and hands calls to `PythonEffects`."""

    def __init__(self, call: Invocation, text: Arg) -> None:
        home = call.state.variables.get("HOME")
        self.names = Aliases()
        self.constants = Constants(self.names, str(home) if home is not None else "/root")
        self.names.text = self.constants.text
        self.effects = PythonEffects(call, text, self.names, self.constants)
        self.call = call
        self.text = text
        self.nodes = 0
        self.loops = 0
        self.told_apart: set[int] = set()  # calls of fork whose parent and child go separate ways

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise RecursionError
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.names.imported(node)
            return
        if isinstance(node, ast.Assign):
            self._assign(node.targets, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            self._assign([node.target], node.value)
        elif isinstance(node, ast.For):
            self._loop(node)
            return
        elif isinstance(node, ast.While):
            self._tell_apart(node)
            self.loops += 1
            self._children(node)
            self.loops -= 1
            return
        elif isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name):
                    self.visit(item.context_expr)
                    self._assign([item.optional_vars], item.context_expr)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for loop in node.generators:
                self.visit(loop.iter)
                items = self.constants.fold(loop.iter)
                if isinstance(loop.target, ast.Name):
                    self.constants.held[loop.target.id] = (
                        items[0] if isinstance(items, list) and items else None
                    )
        elif isinstance(node, ast.Call):
            self._children(node)
            self._called(node)
            return
        elif isinstance(node, _HOLDERS):
            self.effects.values.stored(ast.iter_child_nodes(node))
        elif isinstance(node, ast.Attribute):
            self.effects.values.reached(node)
        self._children(node)

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        for target in targets:
            if isinstance(target, ast.Name):
                name = self.names.of(value)
                if name and not isinstance(value, ast.Constant):
                    self.names.aliases[target.id] = name
                self.constants.held[target.id] = self.constants.fold(value)
                if isinstance(value, ast.Call) and name == "":
                    self._handle(target.id, value)
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple | ast.List):
                for one, other in zip(target.elts, value.elts, strict=False):
                    self._assign([one], other)
            elif isinstance(target, ast.Tuple):
                folded = self.constants.fold(value)
                items = folded if isinstance(folded, list) else []
                for one, item in zip(target.elts, items, strict=False):
                    if isinstance(one, ast.Name):
                        self.constants.held[one.id] = item
            elif isinstance(target, ast.Subscript) and self.names.of(target.value) in ENVIRONMENT:
                self._sets_variable(target, value)
            elif isinstance(target, ast.Attribute | ast.Subscript):
                self.effects.values.stored([value])

    def _handle(self, name: str, value: ast.Call) -> None:
        if self.names.of(value.func) in ("open", "io.open") and value.args:
            path = self.constants.text(value.args[0])
            if path is not None:
                self.effects.handles[name] = path

    def _sets_variable(self, target: ast.Subscript, value: ast.expr) -> None:
        from redoma.judge.interpret.variables import judge_variable

        name = self.constants.text(target.slice) or ""
        held = arg(self.constants.text(value) or UNKNOWN, self.text.span)
        judge_variable(self.call.walker, name, held, self.call.state, kept=False)

    def _tell_apart(self, loop: ast.For | ast.While) -> None:
        """Notes the forks of a loop whose outcome it asks for, as every server of workers does."""
        asked: set[str] = set()
        made: dict[str, ast.expr] = {}
        for each in ast.walk(loop):
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
                made[each.targets[0].id] = each.value
            elif isinstance(each, ast.If | ast.IfExp):
                for part in ast.walk(each.test):
                    if isinstance(part, ast.Call):
                        self.told_apart.add(id(part))
                    elif isinstance(part, ast.Name):
                        asked.add(part.id)
        self.told_apart.update(id(value) for name, value in made.items() if name in asked)

    def _loop(self, node: ast.For) -> None:
        self._tell_apart(node)
        self.visit(node.iter)
        items = self.constants.fold(node.iter)
        rounds = items[:3] if isinstance(items, list) and items else [None]
        self.loops += 1
        for item in rounds:
            if isinstance(node.target, ast.Name):
                self.constants.held[node.target.id] = item
            self.body(node.body)
        self.loops -= 1
        self.body(node.orelse)

    def _called(self, node: ast.Call) -> None:
        name = self.names.of(node.func).removeprefix("builtins.")
        if name in FORKS and self.loops and id(node) not in self.told_apart:
            self.call.fact(Effect.SYSTEM, tags=("fork-bomb",), at=self.text.span)
        self.effects.called(name, node)
        self.effects.values.passed(name, node)
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            if self.names.of(each) in ENVIRONMENT and name != "":
                target = Target(text="environment", place=Place.SECRET)
                self.call.fact(Effect.SECRETS, target, tags=("environment",), at=self.text.span)
                self.effects.taint |= SECRET
