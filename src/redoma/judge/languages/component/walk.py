"""Walks a component's tree: every kind of node, name and attribute has to be known as harmless."""

from __future__ import annotations

import ast

from redoma.judge.languages.component import attributes, classes, imports, uses
from redoma.judge.languages.component.names import (
    BOUND_NAMES,
    FORBIDDEN_NAMES,
    METHODS,
    READABLE_NAMES,
    REFLECTING,
    SAFE_BUILTINS,
    is_dunder,
    is_private,
    leads_inside,
)
from redoma.judge.languages.component.scopes import (
    FUNCTIONS,
    Bindings,
    Scope,
    bound_by,
    inside_function,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_KNOWN_NODES = frozenset(
    """
    Add And AnnAssign Assert Assign AsyncFor AsyncFunctionDef AsyncWith Attribute AugAssign Await
    BinOp BitAnd BitOr BitXor BoolOp Break Call ClassDef Compare Constant Continue Del Delete Dict
    DictComp Div Eq ExceptHandler Expr FloorDiv For FormattedValue FunctionDef GeneratorExp Global
    Gt GtE If IfExp Import ImportFrom In Invert Is IsNot JoinedStr LShift Lambda List ListComp Load
    Lt LtE MatMult Match MatchAs MatchClass MatchMapping MatchOr MatchSequence MatchSingleton
    MatchStar MatchValue Mod Module Mult Name NamedExpr Nonlocal Not NotEq NotIn Or ParamSpec Pass
    Pow RShift Raise Return Set SetComp Slice Starred Store Sub Subscript Try TryStar Tuple
    TypeAlias TypeIgnore TypeVar TypeVarTuple UAdd USub UnaryOp While With Yield YieldFrom alias arg
    arguments comprehension keyword match_case withitem
    """.split()
)


class Walk:
    """One walk; what it finds goes to `refuse`."""

    def __init__(
        self, tree: ast.Module, also: frozenset[str], refuse: Callable[[ast.AST, str], None]
    ) -> None:
        self.names = Bindings(tree, also)
        self.also = also
        self.refuse = refuse
        # A list instead of recursion: a sum of a thousand terms is a thousand deep.
        self._pending: list[tuple[ast.AST, Scope]] = [(tree, Scope())]

    def all(self) -> None:
        """Goes through the whole tree."""
        while self._pending:
            node, scope = self._pending.pop()
            if type(node).__name__ not in _KNOWN_NODES:
                self.refuse(node, f"{type(node).__name__} is syntax that is not known here")
                continue
            visit = _VISITS.get(type(node))
            if visit is None:
                self._generic(node, scope)
            else:
                visit(self, node, scope)

    def later(self, nodes: Iterable[ast.AST | None], scope: Scope) -> None:
        """Has these visited in their turn."""
        self._pending += [(node, scope) for node in nodes if node is not None]

    def _generic(self, node: ast.AST, scope: Scope) -> None:
        for name in bound_by(node):
            self.binds(node, name, scope)
        self.later(ast.iter_child_nodes(node), scope)

    # Names ---------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self._reads(node, scope)
        else:
            self.binds(node, node.id, scope)

    def binds(self, node: ast.AST, name: str, scope: Scope) -> None:
        """Looks at a name that is given a value."""
        if leads_inside(name):
            self.refuse(node, f"{name} names a part of the interpreter")
        elif is_dunder(name):
            if name not in BOUND_NAMES and name not in METHODS:
                self.refuse(node, f"{name} is one of Python's own names, and changes what it does")
        elif scope.in_class:
            return  # reading it is another matter
        elif is_private(name):
            self.refuse(node, f"{name} is another name in each class; choose one without __")
        elif name in scope.here:
            return
        elif name in FORBIDDEN_NAMES or name in REFLECTING:
            self.refuse(node, f"{name} is a builtin that {_why(name)}; choose another name")

    def _reads(self, node: ast.Name, scope: Scope) -> None:
        name = node.id
        if name in self.names.modules:
            self.refuse(node, f"the module {name} is used as a value")
        elif name in self.names.members:
            uses.member_as_value(self, node, self.names.members[name])
        elif leads_inside(name):
            self.refuse(node, f"{name} names a part of the interpreter")
        elif is_private(name):
            self.refuse(node, f"{name} is another name in each class; choose one without __")
        elif name in scope.fields:
            self.refuse(node, f"{name} is a field, and is only fine as an attribute")
        elif name in scope.here or name in SAFE_BUILTINS or name in READABLE_NAMES:
            return
        elif name in FORBIDDEN_NAMES:
            self.refuse(node, f"{name} {FORBIDDEN_NAMES[name]}")
        elif name in REFLECTING:
            self.refuse(node, f"{name} is only fine where it is called with a name written out")
        elif name == "type":
            self.refuse(node, "type makes classes and leads from an object to everything behind it")
        elif is_dunder(name) and name not in METHODS:
            self.refuse(node, f"{name} is one of Python's own names")
        elif name not in self.names.counts:
            self.refuse(node, f"{name} is not defined in the component, nor a builtin known here")

    def _declared(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        for name in node.names:
            self.binds(node, name, Scope())

    # Definitions ---------------------------------------------------------------------------------

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope
    ) -> None:
        inside = inside_function(node, scope)
        given = node.args
        self.later([*given.defaults, *given.kw_defaults], scope)
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        for argument in arguments:
            if argument is not None:
                self.binds(argument, argument.arg, inside)
                self.annotation(argument.annotation, scope)
        if isinstance(node, ast.Lambda):
            self.later([node.body], inside)
            return
        self.binds(node, node.name, scope)
        self.later([*node.decorator_list, *getattr(node, "type_params", ())], scope)
        self.annotation(node.returns, scope)
        self.later(node.body, inside)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        classes.look(self, node, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.later([node.target, node.value], scope)
        self.annotation(node.annotation, scope)

    def annotation(self, node: ast.expr | None, scope: Scope) -> None:
        """Looks at an annotation, where `type[X]` is fine as long as nothing in it can run."""
        if node is not None and not uses.only_names_types(self, node):
            self.later([node], scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        # Attack: `type += R()` hands the builtin to `R.__radd__`.
        target = node.target
        if isinstance(target, ast.Name):
            self._reads(target, scope)
        elif isinstance(target, ast.Attribute) and target.attr in attributes.FORMATTING:
            self.refuse(target, f"{target.attr} is only fine where it is called on a text")
        self.later([node.target, node.value], scope)

    # The rest ------------------------------------------------------------------------------------

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        imports.look(self, node, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        attributes.look(self, node, scope)

    def _call(self, node: ast.Call, scope: Scope) -> None:
        uses.called(self, node, scope)

    def _compare(self, node: ast.Compare, scope: Scope) -> None:
        uses.compared(self, node, scope)

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> None:
        uses.harmless_place(self, node.value, scope)
        self.later([node.format_spec], scope)

    def _keyword(self, node: ast.keyword, scope: Scope) -> None:
        if node.arg is not None and (leads_inside(node.arg) or is_dunder(node.arg)):
            self.refuse(node, f"{node.arg} names a part of the interpreter")
        self.later([node.value], scope)

    def _match_class(self, node: ast.MatchClass, scope: Scope) -> None:
        # Attack: `case object(__globals__=g)` reads an attribute without a dot.
        for name in node.kwd_attrs:
            attributes.named(self, node, name)
            if name in attributes.FORMATTING:
                self.refuse(node, f"{name} is only fine where it is called on a text")
        if node.patterns and not classes.has_places(self, node.cls):
            self.refuse(node, "places in a pattern are only fine for a dataclass without bases")
        self.later([node.cls, *node.patterns, *node.kwd_patterns], scope)


def _why(name: str) -> str:
    return FORBIDDEN_NAMES.get(name, "reads attributes by text")


_VISITS: dict[type, Callable[..., None]] = {
    ast.Name: Walk._name,
    ast.Global: Walk._declared,
    ast.Nonlocal: Walk._declared,
    **dict.fromkeys(FUNCTIONS, Walk._function),
    ast.ClassDef: Walk._class,
    ast.AnnAssign: Walk._annotated,
    ast.AugAssign: Walk._augmented,
    ast.Import: Walk._import,
    ast.ImportFrom: Walk._import,
    ast.Attribute: Walk._attribute,
    ast.Call: Walk._call,
    ast.Compare: Walk._compare,
    ast.FormattedValue: Walk._formatted,
    ast.keyword: Walk._keyword,
    ast.MatchClass: Walk._match_class,
}
