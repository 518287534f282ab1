"""Walks a component's tree: every kind of node, name and attribute has to be known as harmless."""

from __future__ import annotations

import ast

from redoma.judge.languages.component import uses
from redoma.judge.languages.component.allowed import (
    BOUND_NAMES,
    DANGEROUS,
    ENUMS,
    FORBIDDEN_NAMES,
    METHODS,
    MODULES,
    ONLY_AS_BASE,
    ONLY_AS_DECORATOR,
    PACKAGES,
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
    inside_class,
    inside_function,
)
from redoma.model.message import Message
from redoma.model.value import replace

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


class ComponentWalk:
    """One walk; what it finds goes to `refuse`."""

    def __init__(self, tree: ast.Module, also: frozenset[str], refuse: Callable[..., None]) -> None:
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
                self.refuse(
                    node,
                    "{kind} is syntax that is not known here",
                    kind=type(node).__name__,
                )
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
            self.refuse(node, "{name} names a part of the interpreter", name=name)
        elif is_dunder(name):
            if name not in BOUND_NAMES and name not in METHODS:
                self.refuse(
                    node,
                    "{name} is one of Python's own names, and changes what it does",
                    name=name,
                )
        elif scope.in_class:
            return  # reading it is another matter
        elif is_private(name):
            self.refuse(
                node,
                "{name} is another name in each class; choose one without __",
                name=name,
            )
        elif name in scope.here:
            return
        elif name in FORBIDDEN_NAMES or name in REFLECTING:
            self.refuse(
                node,
                "{name} is a builtin that {why}; choose another name",
                name=name,
                why=Message(_why(name)),
            )

    def _reads(self, node: ast.Name, scope: Scope) -> None:
        name = node.id
        if name in self.names.modules:
            self.refuse(node, "the module {name} is used as a value", name=name)
        elif name in self.names.members:
            uses.member_as_value(self, node, self.names.members[name])
        elif leads_inside(name):
            self.refuse(node, "{name} names a part of the interpreter", name=name)
        elif is_private(name):
            self.refuse(
                node,
                "{name} is another name in each class; choose one without __",
                name=name,
            )
        elif name in scope.fields:
            self.refuse(node, "{name} is a field, and is only fine as an attribute", name=name)
        elif name in scope.here or name in SAFE_BUILTINS or name in READABLE_NAMES:
            return
        elif name in FORBIDDEN_NAMES:
            self.refuse(node, f"{name} {FORBIDDEN_NAMES[name]}")
        elif name in REFLECTING:
            self.refuse(
                node,
                "{name} is only fine where it is called with a name written out",
                name=name,
            )
        elif name == "type":
            self.refuse(node, "type makes classes and leads from an object to everything behind it")
        elif is_dunder(name) and name not in METHODS:
            self.refuse(node, "{name} is one of Python's own names", name=name)
        elif name not in self.names.counts:
            self.refuse(
                node,
                "{name} is not defined in the component, nor a builtin known here",
                name=name,
            )

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
        elif isinstance(target, ast.Attribute) and target.attr in uses.FORMATTING:
            self.refuse(
                target,
                "{name} is only fine where it is called on a text",
                name=target.attr,
            )
        self.later([node.target, node.value], scope)

    # The rest ------------------------------------------------------------------------------------

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> None:
        uses.harmless_place(self, node.value, scope)
        self.later([node.format_spec], scope)

    def _keyword(self, node: ast.keyword, scope: Scope) -> None:
        if node.arg is not None and (leads_inside(node.arg) or is_dunder(node.arg)):
            self.refuse(node, "{name} names a part of the interpreter", name=node.arg)
        self.later([node.value], scope)

    def _match_class(self, node: ast.MatchClass, scope: Scope) -> None:
        # Attack: `case object(__globals__=g)` reads an attribute without a dot.
        for name in node.kwd_attrs:
            uses.named(self, node, name)
            if name in uses.FORMATTING:
                self.refuse(node, "{name} is only fine where it is called on a text", name=name)
        if node.patterns and not has_places(self, node.cls):
            self.refuse(node, "places in a pattern are only fine for a dataclass without bases")
        self.later([node.cls, *node.patterns, *node.kwd_patterns], scope)


def class_definition(walk: ComponentWalk, node: ast.ClassDef, scope: Scope) -> None:
    """Looks at a definition: what it is made by, what it derives from, and what stands in it."""
    walk.binds(node, node.name, scope)
    walk.later(getattr(node, "type_params", ()), scope)
    for decorator in node.decorator_list:
        if not _is_dataclass(walk, decorator):
            walk.later([decorator], scope)
        elif isinstance(decorator, ast.Call):
            walk.later([*decorator.args, *decorator.keywords], scope)
    for keyword in node.keywords:
        if keyword.arg in ("metaclass", None):
            if keyword.arg is None or walk.names.member(keyword.value) != "abc.ABCMeta":
                walk.refuse(keyword, "only ABCMeta is fine as a metaclass, and said by name")
        else:
            walk.later([keyword], scope)
    walk.later([base for base in node.bases if walk.names.member(base) not in ONLY_AS_BASE], scope)
    enumerates = any(walk.names.member(base) in ENUMS for base in node.bases)
    if enumerates and not _has_a_member(walk, node):
        # Attack: an enumeration without members is called to make another, from names in a text.
        walk.refuse(
            node,
            "the enumeration {name} needs a member with a plain value",
            name=node.name,
        )
    _body(walk, node, inside_class(node, scope))


def _body(walk: ComponentWalk, node: ast.ClassDef, inside: Scope) -> None:
    fields = fields_of(walk, node)
    inside = replace(inside, fields=frozenset(fields))
    # What is made by anything else first could be kept as it is before `dataclass` reads it.
    consumed = bool(node.decorator_list) and _is_dataclass(walk, node.decorator_list[-1])
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and uses.is_field(walk, statement.value):
            assert isinstance(statement.value, ast.Call)
            if not consumed or not isinstance(statement.target, ast.Name):
                walk.refuse(statement, "field() is only fine in a class that is made a dataclass")
            walk.later([statement.target], inside)
            walk.annotation(statement.annotation, inside)
            walk.later([*statement.value.args, *statement.value.keywords], inside)
        else:
            walk.later([statement], inside)


def fields_of(walk: ComponentWalk, node: ast.ClassDef) -> list[str]:
    """The names whose value in the body of the class is a `Field`.

    Attack: whoever keeps one and calls it `__annotations__` has `replace` read that attribute.
    """
    return [
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and uses.is_field(walk, statement.value)
    ]


def has_places(walk: ComponentWalk, node: ast.expr) -> bool:
    """Whether a pattern may read a class's attributes by their place.

    Attack: `ABC.register(str)` makes a text an instance, and a field `format` its method.
    """
    if not isinstance(node, ast.Name):
        return False
    if node.id in SAFE_BUILTINS and node.id not in walk.names.counts:
        return True
    found = walk.names.classes.get(node.id)
    if found is None or walk.names.counts.get(node.id) != 1 or found.bases or found.keywords:
        return False
    named = {
        statement.target.id
        for statement in found.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    return not any(leads_inside(name) or name in uses.FORMATTING for name in named)


def _is_dataclass(walk: ComponentWalk, node: ast.expr) -> bool:
    made_by = node.func if isinstance(node, ast.Call) else node
    return walk.names.member(made_by) in ONLY_AS_DECORATOR


def _has_a_member(walk: ComponentWalk, node: ast.ClassDef) -> bool:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value
            automatic = isinstance(value, ast.Call) and walk.names.member(value.func) == "enum.auto"
            plain = isinstance(value, ast.Constant | ast.Tuple) or automatic
            if plain and not statement.targets[0].id.startswith("_"):
                return True
    return False


def imported(walk: ComponentWalk, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    """Refuses what is not listed, and what would be a module under another guise."""
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        walk.binds(node, name, scope)
        if name in walk.names.contradictory:
            walk.refuse(node, "{name} is imported here and is something else elsewhere", name=name)
    if scope.in_class:
        # Attack: `class A: import json` makes the module an attribute, where it is a value.
        walk.refuse(node, "what a class imports would be one of its attributes")
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name not in MODULES and not _given(walk, alias.name):
                walk.refuse(node, _not_listed(alias.name))
        return
    if node.level:
        walk.refuse(node, "a component has nothing beside it to import")
        return
    module = node.module or ""
    if any(alias.name == "*" for alias in node.names):
        walk.refuse(node, "from {module} import * brings names that nobody sees", module=module)
        return
    if _given(walk, module):
        return
    if module not in MODULES and module not in PACKAGES:
        walk.refuse(node, _not_listed(module))
        return
    for alias in node.names:
        whole = f"{module}.{alias.name}"
        if alias.name not in MODULES.get(module, ()) and whole not in MODULES:
            walk.refuse(node, "{name} is not known as harmless", name=whole)


def _given(walk: ComponentWalk, module: str) -> bool:
    """Whether whoever runs the component has said that it may have this module."""
    return any(module == each or module.startswith(f"{each}.") for each in walk.also)


def _not_listed(module: str) -> str:
    why = DANGEROUS.get(module.partition(".")[0])
    if why:
        return Message("the module {module} {why}", module=module, why=Message(why))
    return Message("the module {module} is not known as harmless", module=module)


def _why(name: str) -> str:
    return FORBIDDEN_NAMES.get(name, "reads attributes by text")


_VISITS: dict[type, Callable[..., None]] = {
    ast.Name: ComponentWalk._name,
    ast.Global: ComponentWalk._declared,
    ast.Nonlocal: ComponentWalk._declared,
    **dict.fromkeys(FUNCTIONS, ComponentWalk._function),
    ast.ClassDef: class_definition,
    ast.AnnAssign: ComponentWalk._annotated,
    ast.AugAssign: ComponentWalk._augmented,
    ast.Import: imported,
    ast.ImportFrom: imported,
    ast.Attribute: uses.attribute,
    ast.Call: uses.called,
    ast.Compare: uses.compared,
    ast.FormattedValue: ComponentWalk._formatted,
    ast.keyword: ComponentWalk._keyword,
    ast.MatchClass: ComponentWalk._match_class,
}
