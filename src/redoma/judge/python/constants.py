"""What an expression is worth before it runs: strings put together, decoded, sliced, joined."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.python.names import Names

LONGEST = 65536
_SAME_TEXT = frozenset("strip lower upper lstrip rstrip title decode encode format expanduser resolve absolute as_posix casefold".split())


class Constants:
    """Folds expressions under the names that the code has bound so far."""

    def __init__(self, names: Names, home: str) -> None:
        self.names = names
        self.home = home
        self.held: dict[str, object] = {}

    def fold(self, node: ast.AST | None) -> object:
        """A str (with marks where unknown), bytes, int, list, or None for what cannot be told."""
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            value = node.value
            return value.replace("\ue000", UNKNOWN) if isinstance(value, str) else value
        folder = _FOLDERS.get(type(node))
        if folder is None:
            return None
        try:
            value = folder(self, node)
        except (ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError, LookupError):
            return None
        if isinstance(value, str | bytes | list) and len(value) > LONGEST:
            return None
        return value

    def text(self, node: ast.AST | None) -> str | None:
        """The expression as text; bytes are decoded."""
        value = self.fold(node)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, bool) or value is None:
            return None
        return str(value) if isinstance(value, str | int) else None

    def words(self, node: ast.AST | None) -> list[str] | None:
        """A list of words; those that cannot be told are marked."""
        if isinstance(node, ast.List | ast.Tuple):
            out: list[str] = []
            for each in node.elts:
                if isinstance(each, ast.Starred):
                    out.extend(self.words(each.value) or [UNKNOWN])
                else:
                    text = self.text(each)
                    out.append(UNKNOWN if text is None else text)
            return out
        value = self.fold(node)
        if isinstance(value, list):
            return [str(each) if isinstance(each, str | int) else UNKNOWN for each in value]
        return None

    # One method for each kind of expression ----------------------------------------------------

    def _joined(self, node: ast.JoinedStr) -> object:
        return "".join(self.text(part) or UNKNOWN if not isinstance(part, ast.Constant) else str(self.fold(part)) for part in node.values)

    def _formatted(self, node: ast.FormattedValue) -> object:
        return self.text(node.value) if node.conversion == -1 and node.format_spec is None else None

    def _name(self, node: ast.Name) -> object:
        return self.held.get(node.id)

    def _sequence(self, node: ast.List | ast.Tuple) -> object:
        return [self.fold(each) if self.fold(each) is not None else UNKNOWN for each in node.elts]

    def _operation(self, node: ast.BinOp) -> object:
        left, right = self.fold(node.left), self.fold(node.right)
        if isinstance(node.op, ast.Div) and isinstance(left, str):
            return f"{left}/{right if isinstance(right, str) else UNKNOWN}"
        if isinstance(node.op, ast.Mod) and isinstance(left, str):
            return _percent(left, right)
        if isinstance(node.op, ast.Add):
            if isinstance(left, str) or isinstance(right, str):
                known = left if isinstance(left, str) else UNKNOWN
                return known + (right if isinstance(right, str) else UNKNOWN)
            if isinstance(left, bytes | list | int) and type(left) is type(right):
                return left + right  # type: ignore[operator]
        if isinstance(node.op, ast.Mult) and isinstance(left, str | bytes) and isinstance(right, int):
            return left * right if 0 <= right * len(left) <= LONGEST else None
        if isinstance(left, int) and isinstance(right, int):
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.BitXor):
                return left ^ right
            if isinstance(node.op, ast.Mult) and abs(left) < 1 << 32 and abs(right) < 1 << 32:
                return left * right
        return None

    def _subscript(self, node: ast.Subscript) -> object:
        if self.names.of(node.value) == "os.environ":
            return self.home if self.fold(node.slice) == "HOME" else None
        value = self.fold(node.value)
        if not isinstance(value, str | bytes | list):
            return None
        if isinstance(node.slice, ast.Slice):
            bounds = [self.fold(part) for part in (node.slice.lower, node.slice.upper, node.slice.step)]
            if all(bound is None or isinstance(bound, int) for bound in bounds):
                return value[slice(*bounds)]
            return None
        index = self.fold(node.slice)
        return value[index] if isinstance(index, int) else None

    def _unary(self, node: ast.UnaryOp) -> object:
        value = self.fold(node.operand)
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int) else None

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> object:
        if len(node.generators) != 1:
            return None
        loop = node.generators[0]
        items = self.fold(loop.iter)
        if not isinstance(loop.target, ast.Name) or not isinstance(items, list | bytes | str) or loop.ifs:
            return None
        before = self.held.get(loop.target.id)
        out: list[object] = []
        for item in list(items)[:4096]:
            self.held[loop.target.id] = item
            out.append(self.fold(node.elt))
        self.held[loop.target.id] = before
        return out

    def _call(self, node: ast.Call) -> object:
        name = self.names.of(node.func)
        args = [self.fold(each) for each in node.args]
        if name:
            from redoma.judge.python.decoders import DECODERS

            decode = DECODERS.get(name.removeprefix("builtins."))
            if decode is not None:
                return decode(args, self.home)
        if isinstance(node.func, ast.Attribute):
            return self._method(self.fold(node.func.value), node.func.attr, args)
        return None

    def _method(self, held: object, name: str, args: list[object]) -> object:
        if isinstance(held, str | bytes):
            if name == "join" and args and isinstance(args[0], list):
                if isinstance(held, bytes):
                    return held.join(each for each in args[0] if isinstance(each, bytes))
                return held.join(each if isinstance(each, str) else UNKNOWN for each in args[0])
            if name == "replace" and len(args) == 2 and all(isinstance(a, str) for a in args):
                return held.replace(*args) if isinstance(held, str) else None  # type: ignore[arg-type]
            if name == "split" and isinstance(held, str):
                return held.split(args[0] if args and isinstance(args[0], str) else None)  # type: ignore[arg-type]
            if name == "decode" and isinstance(held, bytes):
                return held.decode("utf-8", "replace")
            if name == "encode" and isinstance(held, str):
                return held.encode("utf-8", "replace")
            if name == "format" and isinstance(held, str):
                return _percent(held.replace("{}", "%s"), args)
            if name in ("lower", "upper", "strip", "lstrip", "rstrip", "title") and not args:
                return getattr(held, name)()
            if name in ("joinpath", "with_name") and isinstance(held, str):
                return "/".join([held, *(a if isinstance(a, str) else UNKNOWN for a in args)])
            if name in ("glob", "rglob") and isinstance(held, str) and args and isinstance(args[0], str):
                return [f"{held}/{'**/' if name == 'rglob' else ''}{args[0]}"]
            if name == "iterdir":
                return [f"{held!s}/*"]
            if name in _SAME_TEXT:
                return held
        return None


def _percent(template: str, given: object) -> str:
    values = list(given) if isinstance(given, list | tuple) else [given]
    pieces = template.split("%s")
    out = pieces[0]
    for index, piece in enumerate(pieces[1:]):
        value = values[index] if index < len(values) else None
        out += (str(value) if isinstance(value, str | int) else UNKNOWN) + piece
    return out


_FOLDERS: dict[type, Callable[..., object]] = {
    ast.JoinedStr: Constants._joined,  # noqa: SLF001
    ast.FormattedValue: Constants._formatted,  # noqa: SLF001
    ast.Name: Constants._name,  # noqa: SLF001
    ast.List: Constants._sequence,  # noqa: SLF001
    ast.Tuple: Constants._sequence,  # noqa: SLF001
    ast.BinOp: Constants._operation,  # noqa: SLF001
    ast.Subscript: Constants._subscript,  # noqa: SLF001
    ast.UnaryOp: Constants._unary,  # noqa: SLF001
    ast.ListComp: Constants._comprehension,  # noqa: SLF001
    ast.GeneratorExp: Constants._comprehension,  # noqa: SLF001
    ast.Call: Constants._call,  # noqa: SLF001
}
