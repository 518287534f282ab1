"""What is harmless only in some places: attributes, `type`, `getattr`, `format`, some imports."""

from __future__ import annotations

import ast

from redoma.judge.languages.component.allowed import (
    DANGEROUS,
    DESCRIBING,
    METHODS,
    MODULES,
    ONLY_AS_A_FIELD,
    ONLY_AS_BASE,
    ONLY_AS_DECORATOR,
    ONLY_AS_METACLASS,
    ONLY_WITH_ONE_ARGUMENT,
    REFLECTING,
    SAFE_BUILTINS,
    is_dunder,
    leads_inside,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.languages.component.scopes import Scope
    from redoma.judge.languages.component.walk import ComponentWalk

FORMATTING = ("format", "format_map")
# They tell about a class and give nothing of it away.
_TELLING = frozenset(("isinstance", "issubclass", "print", "repr", "str", "hash", "id"))


def attribute(walk: ComponentWalk, node: ast.Attribute, scope: Scope) -> None:
    """Looks at `value.name`, wherever it stands."""
    if _of_a_module(walk, node):
        return
    if node.attr in DESCRIBING and isinstance(node.ctx, ast.Load):
        _described(walk, node.value, scope)
        return
    if node.attr in METHODS and isinstance(node.ctx, ast.Load):
        # Attack: `stream.__init__(path)` opens a file with an object that is already there.
        if not _is_base(walk, node.value):
            walk.refuse(
                node,
                "{name} is only fine after super() or a class of the component",
                name=node.attr,
            )
    elif node.attr in FORMATTING and isinstance(node.ctx, ast.Load):
        walk.refuse(
            node,
            "{name} is only fine where it is called on a text written out",
            name=node.attr,
        )
    else:
        named(walk, node, node.attr)
    walk.later([node.value], scope)


def named(walk: ComponentWalk, node: ast.AST, name: str) -> None:
    """Looks at the name of an attribute that is read, set, or asked for in another way."""
    if leads_inside(name) or is_dunder(name):
        walk.refuse(node, "{name} leads from an object to what lies behind it", name=name)
    elif walk.also and name in DANGEROUS:
        walk.refuse(node, f"{name} {DANGEROUS[name]}")


def _of_a_module(walk: ComponentWalk, node: ast.Attribute) -> bool:
    """Whether it is an attribute of a module; then it is one that is listed, or refused."""
    module = walk.names.module(node.value)
    if not module:
        return False
    if not isinstance(node.ctx, ast.Load):
        walk.refuse(node, "the module {module} would be changed for all its users", module=module)
        return True
    whole = f"{module}.{node.attr}"
    if whole in MODULES:
        walk.refuse(node, "the module {name} is used as a value", name=whole)
    elif module in MODULES:
        if node.attr in MODULES[module]:
            member_as_value(walk, node, whole)
        else:
            walk.refuse(node, "{name} is not known as harmless", name=whole)
    elif any(whole.startswith(f"{each}.") for each in walk.also):
        if node.attr.startswith("_"):
            walk.refuse(node, "{name} is a private part of {module}", name=whole, module=module)
        else:
            named(walk, node, node.attr)
    else:
        walk.refuse(node, "{name} is not known as harmless", name=whole)
    return True


def _described(walk: ComponentWalk, value: ast.expr, scope: Scope) -> None:
    """`type(x).__name__` and `x.__class__.__name__` are texts, and nothing leads on from them."""
    if isinstance(value, ast.Attribute) and value.attr == "__class__":
        walk.later([value.value], scope)
    else:
        harmless_place(walk, value, scope)


def _is_base(walk: ComponentWalk, value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id == "super" and "super" not in walk.names.counts
    return (
        isinstance(value, ast.Name)
        and value.id in walk.names.classes
        and walk.names.counts.get(value.id) == 1
    )


def called(walk: ComponentWalk, node: ast.Call, scope: Scope) -> None:
    """Looks at a call; what is called is looked at as any other expression."""
    function = node.func
    name = function.id if isinstance(function, ast.Name) and function.id not in scope.here else ""
    if name == "type" and "type" not in walk.names.counts:
        walk.refuse(node, "type() gives a class, with everything behind it; compare or name it")
        walk.later([*node.args, *node.keywords], scope)
    elif name in REFLECTING:
        _reflected(walk, node, name, scope)
    elif name in _TELLING and name not in walk.names.counts:
        for argument in node.args:
            harmless_place(walk, argument, scope)
        walk.later(node.keywords, scope)
    elif isinstance(function, ast.Attribute) and function.attr in FORMATTING:
        _formatted(walk, node, function, scope)
    elif walk.names.member(function) in ONLY_WITH_ONE_ARGUMENT:
        if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
            walk.refuse(
                node,
                "{function} is only fine with one argument",
                function=walk.names.member(function),
            )
        walk.later([*node.args, *node.keywords], scope)
    else:
        walk.later([function, *node.args, *node.keywords], scope)


def harmless_place(walk: ComponentWalk, node: ast.expr, scope: Scope) -> None:
    """Looks at an expression where `type(x)` is fine: compared, printed, or asked for its name."""
    bare = isinstance(node, ast.Name) and node.id == "type" and "type" not in walk.names.counts
    if isinstance(node, ast.Call) and _is_type(walk, node):
        walk.later(node.args, scope)
    elif not bare and walk.names.member(node) not in ONLY_AS_BASE:
        walk.later([node], scope)


def compared(walk: ComponentWalk, node: ast.Compare, scope: Scope) -> None:
    """Looks at a comparison; attack: `x == type(y)` hands the class to `x.__eq__`."""
    sides = [node.left, *node.comparators]
    by_identity = all(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops)
    if by_identity or all(_is_type(walk, side) or _names_builtins(walk, side) for side in sides):
        for side in sides:
            harmless_place(walk, side, scope)
    else:
        walk.later(sides, scope)


def only_names_types(walk: ComponentWalk, node: ast.expr) -> bool:
    """Whether an annotation is put together from classes alone.

    Attack: without the future import annotations run, and `x: type | R()` calls `R.__ror__`.
    """
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Subscript):
            pending += [part.value, part.slice]
        elif isinstance(part, ast.Tuple | ast.List):
            pending += part.elts
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr):
            pending += [part.left, part.right]
        elif isinstance(part, ast.Name):
            name = part.id
            own = name in walk.names.classes and walk.names.counts.get(name) == 1
            builtin = name in SAFE_BUILTINS or name == "type"
            known = own or (builtin and name not in walk.names.counts)
            if not known and not _is_typing(walk, part):
                return False
        elif not isinstance(part, ast.Constant) and not _is_typing(walk, part):
            return False
    return True


def _is_typing(walk: ComponentWalk, node: ast.AST) -> bool:
    module, _, name = walk.names.member(node).rpartition(".")
    return module in ("collections.abc", "enum", "typing") and name in MODULES[module]


def _is_type(walk: ComponentWalk, node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "type"
        and "type" not in walk.names.counts
        and len(node.args) == 1
        and not node.keywords
    )


def _names_builtins(walk: ComponentWalk, node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return all(
        isinstance(part, ast.Name) and part.id in SAFE_BUILTINS and part.id not in walk.names.counts
        for part in parts
    )


def member_as_value(walk: ComponentWalk, node: ast.AST, whole: str) -> None:
    """Looks at a listed name where it stands as a value."""
    if whole in ONLY_AS_BASE:
        walk.refuse(node, "{name} is only fine as the base of a class", name=whole)
    elif whole in ONLY_AS_DECORATOR:
        walk.refuse(node, "{name} is only fine as a decorator of a class", name=whole)
    elif whole in ONLY_AS_METACLASS:
        walk.refuse(node, "{name} is only fine as a metaclass", name=whole)
    elif whole in ONLY_AS_A_FIELD:
        walk.refuse(node, "{name} is only fine as the value of a field of a class", name=whole)
    elif whole in ONLY_WITH_ONE_ARGUMENT:
        walk.refuse(node, "{name} is only fine where it is called with one argument", name=whole)


def is_field(walk: ComponentWalk, node: ast.expr | None) -> bool:
    """Whether it is `field(…)`, which is fine as the value of an annotated name of a class."""
    return isinstance(node, ast.Call) and walk.names.member(node.func) in ONLY_AS_A_FIELD


def _reflected(walk: ComponentWalk, node: ast.Call, name: str, scope: Scope) -> None:
    """`getattr(x, "name")` is `x.name`, where the name is written out."""
    least, most = REFLECTING[name]
    plain = not node.keywords and not any(isinstance(each, ast.Starred) for each in node.args)
    walk.later([*node.args, *node.keywords], scope)
    if not plain or not least <= len(node.args) <= most:
        walk.refuse(node, "{name} is called in a way that cannot be read here", name=name)
        return
    attribute = walk.names.text(node.args[1])
    if attribute is None:
        walk.refuse(
            node,
            "{name} with a name that is put together{guess}",
            name=name,
            guess=_guessed(node.args[1]),
        )
    elif attribute in FORMATTING:
        walk.refuse(
            node,
            "{name} is only fine where it is called on a text written out",
            name=attribute,
        )
    else:
        named(walk, node, attribute)


def _formatted(walk: ComponentWalk, node: ast.Call, function: ast.Attribute, scope: Scope) -> None:
    """`"{} {}".format(…)` is fine; attack: `"{0.__globals__}".format(f)` reads attributes."""
    walk.later([*node.args, *node.keywords], scope)
    template = walk.names.text(function.value)
    if template is None:
        walk.refuse(
            node,
            "{name} on a text that is not written out; use an f-string",
            name=function.attr,
        )
    elif any(leads_inside(name) or is_dunder(name) for name in _fields(template)):
        walk.refuse(
            node,
            "{name} with a field that reads what lies behind an object",
            name=function.attr,
        )


def _fields(template: str) -> list[str]:
    """The attributes and keys that the fields of a template read of what they are given."""
    from string import Formatter

    read: list[str] = []
    pending = [template]
    try:
        while pending:
            for _, field, spec, _ in Formatter().parse(pending.pop()):
                if field is not None:
                    _, *rest = field.replace("[", ".").replace("]", "").split(".")
                    read += rest
                    pending += [spec] if spec else []
    except ValueError:
        return read  # Python will not read it either
    return read


def _guessed(node: ast.expr) -> str:
    """What the name would be, where folding shows it."""
    from redoma.judge.languages.python.constants import Constants
    from redoma.judge.languages.python.functions import Aliases

    try:
        text = Constants(Aliases(), "").text(node)
    except RecursionError:
        return ""
    return f": {text[:40]!r}" if text and text.isidentifier() else ""
