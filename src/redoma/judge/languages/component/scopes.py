"""Which names a component binds, and which of them a function has for itself alone."""

from __future__ import annotations

import ast

from redoma.judge.languages.component.allowed import MODULES, PACKAGES, SAFE_BUILTINS, is_dunder
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
TYPE_PARAMETERS = ("TypeVar", "ParamSpec", "TypeVarTuple")  # from Python 3.12
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scope(Value):
    """Names that are surely the component's own where a piece of code stands.

    Only a function's own names are: one of the module or of a class that is not bound yet, or no
    longer, is looked for among the builtins.
    """

    here: frozenset[str] = frozenset()
    # What functions inside see; a class keeps its names from them.
    nested: frozenset[str] = frozenset()
    in_class: bool = False
    # Names of this class whose value is a `Field`; see `fields_of`.
    fields: frozenset[str] = frozenset()


class Bindings:
    """Every name that is bound anywhere in the tree, and what imports made of them."""

    def __init__(self, tree: ast.Module, also: frozenset[str]) -> None:
        self.counts: dict[str, int] = {}
        self.literals: dict[str, str] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.modules: dict[str, str] = {}
        """Names that stand for a module."""
        self.members: dict[str, str] = {}
        """Names that stand for something of a module, as `wraps` for `functools.wraps`."""
        self.contradictory: set[str] = set()
        self._also = also
        others: dict[str, int] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._imported(node)
                continue
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            if isinstance(node, ast.Assign | ast.AnnAssign):
                self._literal(node)
            for name in bound_by(node):
                others[name] = others.get(name, 0) + 1
        for name, count in others.items():
            self.counts[name] = self.counts.get(name, 0) + count
            if name in self.modules or name in self.members:
                # Attack: `json` is a module here and a value there; nobody can tell which is meant.
                self.contradictory.add(name)

    def text(self, node: ast.AST) -> str | None:
        """The text that an expression surely is: written out, or a name bound to one only once."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name) and self.counts.get(node.id) == 1:
            # Attack: one function's own `str` is a text, and everyone else's is the builtin.
            builtin = is_dunder(node.id) or node.id in SAFE_BUILTINS
            return None if builtin else self.literals.get(node.id)
        return None

    def member(self, node: ast.AST) -> str:
        """`module.name` where an expression is something imported, else nothing."""
        if isinstance(node, ast.Name):
            return self.members.get(node.id, "")
        if isinstance(node, ast.Attribute):
            module = self.module(node.value)
            return f"{module}.{node.attr}" if module else ""
        return ""

    def module(self, node: ast.AST) -> str:
        """The module that an expression stands for, else nothing."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id, "")
        if isinstance(node, ast.Attribute):
            above = self.module(node.value)
            name = f"{above}.{node.attr}"
            return name if above and name in MODULES else ""
        return ""

    def _imported(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole, first = alias.name, alias.name.partition(".")[0]
                self._note(alias.asname or first, whole if alias.asname else first, self.modules)
            return
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            known = MODULES.keys() | PACKAGES | self._also
            kind = self.modules if name in known else self.members
            self._note(alias.asname or alias.name, name, kind)

    def _note(self, name: str, meaning: str, kind: dict[str, str]) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
        known = self.modules.get(name) or self.members.get(name)
        if known is not None and known != meaning:
            self.contradictory.add(name)
        kind[name] = meaning

    def _literal(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for target in targets:
                if isinstance(target, ast.Name):
                    self.literals[target.id] = node.value.value


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that this node itself binds; imports apart."""
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
        return
    if isinstance(node, ast.arg):
        yield node.arg
        return
    if isinstance(node, ast.alias):
        return
    # Functions, classes, handlers, patterns and type parameters have a name; a mapping's is `rest`.
    for field in ("name", "rest"):
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield name


def own_names(function: Function) -> tuple[set[str], set[str]]:
    """The names that are local to a function, and those that it says are the module's."""
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    own = {each.arg for each in given}
    outer: set[str] = set()
    pending: list[ast.AST] = []
    if not isinstance(function, ast.Lambda):
        pending = [*function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Global):
            outer.update(node.names)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            own.update(bound_by(node))
            continue
        if isinstance(node, COMPREHENSIONS) or type(node).__name__ in TYPE_PARAMETERS:
            continue  # attack: `[0 for eval in x]` leaves `eval` outside of it as it is
        own.update(bound_by(node))
        pending += ast.iter_child_nodes(node)
    return own - outer, outer


def inside_function(function: Function, around: Scope) -> Scope:
    """The scope of a function's body."""
    own, outer = own_names(function)
    names = (around.nested | own) - outer
    return Scope(here=frozenset(names), nested=frozenset(names))


def inside_class(node: ast.ClassDef, around: Scope) -> Scope:
    """The scope of a class's body.

    Attack: `def f(eval): class A: eval = eval` reads the builtin, since a class looks for the
    names that it binds among its own and then at once in the module.
    """
    bound = {name for part in ast.walk(node) for name in bound_by(part)}
    bound |= {n for p in ast.walk(node) if isinstance(p, ast.Global) for n in p.names}
    return Scope(here=around.nested - bound, nested=around.nested, in_class=True)
