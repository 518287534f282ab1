"""What an expression is worth before it runs: strings put together, decoded, sliced, joined."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.languages.python.names import Names

LONGEST = 65536
MOST_WORK = 20_000
_SAME_TEXT = frozenset(
    "strip lower upper lstrip rstrip title decode encode format expanduser resolve "
    "absolute as_posix casefold".split()
)


class Constants:
    """Folds expressions under the names that the code has bound so far."""

    def __init__(self, names: Names, home: str) -> None:
        self.names = names
        self.home = home
        self.held: dict[str, object] = {}
        self.work = 0

    def fold(self, node: ast.AST | None) -> object:
        """A str (with marks where unknown), bytes, int, list, or None for what cannot be told."""
        if node is None:
            return None
        self.work += 1
        if self.work > MOST_WORK:
            return None
        if isinstance(node, ast.Constant):
            literal = node.value
            return literal.replace("\ue000", UNKNOWN) if isinstance(literal, str) else literal
        folder = _FOLDERS.get(type(node))
        if folder is None:
            return None
        try:
            value: object = folder(self, node)
        except (ValueError, TypeError, OverflowError, AttributeError, LookupError):
            return None
        if isinstance(value, str | bytes | list):
            # Attack: small code that makes large texts again and again.
            self.work += len(value) // 64
            if len(value) > LONGEST:
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
        return "".join(
            self.text(part) or UNKNOWN
            if not isinstance(part, ast.Constant)
            else str(self.fold(part))
            for part in node.values
        )

    def _formatted(self, node: ast.FormattedValue) -> object:
        return self.text(node.value) if node.conversion == -1 and node.format_spec is None else None

    def _name(self, node: ast.Name) -> object:
        return self.held.get(node.id)

    def _sequence(self, node: ast.List | ast.Tuple) -> object:
        folded = [self.fold(each) for each in node.elts]
        return [UNKNOWN if each is None else each for each in folded]

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
        if (
            isinstance(node.op, ast.Mult)
            and isinstance(left, str | bytes)
            and isinstance(right, int)
        ):
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
            part = node.slice
            return value[self._bound(part.lower) : self._bound(part.upper) : self._bound(part.step)]
        index = self.fold(node.slice)
        return value[index] if isinstance(index, int) else None

    def _bound(self, node: ast.expr | None) -> int | None:
        if node is None:
            return None
        value = self.fold(node)
        if not isinstance(value, int):
            raise ValueError("not known")
        return value

    def _unary(self, node: ast.UnaryOp) -> object:
        value = self.fold(node.operand)
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int) else None

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> object:
        if len(node.generators) != 1:
            return None
        loop = node.generators[0]
        items = self.fold(loop.iter)
        if (
            not isinstance(loop.target, ast.Name)
            or not isinstance(items, list | bytes | str)
            or loop.ifs
        ):
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
            from redoma.judge.languages.python.decoders import DECODERS

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
                return held.split(args[0] if args and isinstance(args[0], str) else None)
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
            if (
                name in ("glob", "rglob")
                and isinstance(held, str)
                and args
                and isinstance(args[0], str)
            ):
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
    ast.JoinedStr: Constants._joined,
    ast.FormattedValue: Constants._formatted,
    ast.Name: Constants._name,
    ast.List: Constants._sequence,
    ast.Tuple: Constants._sequence,
    ast.BinOp: Constants._operation,
    ast.Subscript: Constants._subscript,
    ast.UnaryOp: Constants._unary,
    ast.ListComp: Constants._comprehension,
    ast.GeneratorExp: Constants._comprehension,
    ast.Call: Constants._call,
}
