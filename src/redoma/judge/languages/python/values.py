"""Functions that Python code passes as values, keeps in containers, or finds by a made name."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.languages.python import functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.judge.languages.python.effects import PythonEffects

_RUNS = functions.SHELLS | functions.PROGRAMS | functions.EXECS | functions.SPAWNS
_RUNS |= (functions.EVALUATES - {"compile", "builtins.compile"}) | functions.RUNS_FILES
_ACTS = _RUNS | functions.DELETES.keys() | functions.MOVES | functions.KILLS
_LOOKING = ("print", "help", "repr", "type", "callable", "id", "str", "dir", "hasattr", "inspect.")
"""Functions that look at a function and never call it."""
_INTERNALS = frozenset(
    "__subclasses__ __globals__ __builtins__ __code__ f_globals f_builtins".split()
)
"""Attributes by which code reaches functions that it has no name for."""
_REACHING = frozenset(
    "os subprocess builtins __builtins__ sys.modules pty shutil ctypes importlib posix eval "
    "__import__".split()
)
_MOST = 16


class FunctionValues:
    """What functions do that somebody else calls: `map(os.system, …)`, `Thread(target=…)`."""

    def __init__(self, effects: PythonEffects) -> None:
        self.effects = effects
        self.escaped = False

    def _reference(self, node: ast.AST) -> str:
        """The function that an expression stands for, if it is one that acts."""
        if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            return ""
        name = self.effects.names.of(node)
        return name if name in _ACTS else ""

    def passed(self, caller: str, node: ast.Call) -> None:
        """Takes a function among the arguments as called, with the other arguments as its own."""
        if caller.startswith(_LOOKING) or caller in _ACTS:
            return
        given = [*node.args, *(each.value for each in node.keywords)]
        if caller == "setattr":
            self.stored([*node.args])
            return
        for each in given:
            name = self._reference(each)
            if name:
                others = [other for other in node.args if other is not each]
                kept = functions.keyword(node, "args") or functions.keyword(node, "iterable")
                self._call(name, each, [kept] if kept is not None else others)

    def _call(self, name: str, function: ast.expr, given: list[ast.expr]) -> None:
        called = False
        for each in given[:_MOST]:
            items = self._items(each)
            if items is not None:
                for item in items[:_MOST]:
                    self._one(name, function, item)
                    called = True
        texts = [each for each in given if not isinstance(each, ast.Starred)]
        while texts and self.effects.constants.text(texts[0]) is None:
            texts = texts[1:]
        if texts:
            self._one(name, function, texts)
        elif not called and name in _RUNS:
            self.effects.unknown_code()

    def _one(self, name: str, function: ast.expr, args: list[ast.expr]) -> None:
        self.effects.called(name, ast.Call(func=function, args=args, keywords=[]))

    def _items(self, node: ast.expr) -> list[list[ast.expr]] | None:
        """The arguments of each call that a list of them makes; an item may be several."""
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [
                list(each.elts) if isinstance(each, ast.Tuple) else [each] for each in node.elts
            ]
        folded = self.effects.constants.fold(node)
        if isinstance(folded, list):
            return [[ast.Constant(value=each)] for each in folded]
        return None

    def stored(self, nodes: Iterable[ast.AST]) -> None:
        """A function in a list or a dictionary is called by whoever takes it out."""
        if any(self._reference(each) in _RUNS for each in nodes):
            self.escaped = True

    def reached(self, node: ast.Attribute) -> None:
        """Attack: `().__class__.__base__.__subclasses__()`: every class without an import."""
        if node.attr in _INTERNALS:
            self.escaped = True

    def dynamic(self, node: ast.Call) -> None:
        """Attack: a function looked up by a name that is made while running."""
        func = node.func
        names = self.effects.names
        if isinstance(func, ast.Call) and names.of(func.func) == "operator.methodcaller":
            self._method_caller(func, node)
        elif isinstance(func, ast.Lambda):
            self.passed("", node)
        elif isinstance(func, ast.Call | ast.Subscript) and any(
            names.of(each) in _REACHING for each in ast.walk(func)
        ):
            self.escaped = True
        elif (
            names.of(func) in ("__import__", "importlib.import_module")
            and self.effects.constants.text(functions.first(node)) is None
        ):
            self.effects.unknown_code()

    def _method_caller(self, maker: ast.Call, node: ast.Call) -> None:
        method = self.effects.constants.text(functions.first(maker))
        held = self.effects.names.of(node.args[0]) if node.args else ""
        if method is None or UNKNOWN in method:
            self.escaped = True
        elif f"{held}.{method}" in _ACTS:
            self._one(f"{held}.{method}", maker, maker.args[1:])

    def conclude(self, tree: ast.AST) -> None:
        """Where a function got away, every text that is a command line may be what it is given."""
        if not self.escaped:
            return
        self.effects.unknown_code()
        texts = [
            each.value
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        for text in [each for each in texts if " " in each.strip()][:_MOST]:
            self.effects.call.reads_perhaps(self.effects.word(text))


def unpickles(effects: PythonEffects, node: ast.Call, name: str) -> None:
    """Unpickling runs code: that of a file is judged as running the file is."""
    given = functions.first(node)
    if isinstance(given, ast.Call) and effects.names.of(given.func) in functions.OPENS:
        given = functions.first(given)
    path = effects.handles.get(given.id) if isinstance(given, ast.Name) else None
    if path is None and name not in functions.UNPICKLES_TEXT:
        path = effects.constants.text(given)
    if path is None or UNKNOWN in path:
        effects.unknown_code()
    else:
        effects.call.executes_file(effects.word(path), "pickle")
