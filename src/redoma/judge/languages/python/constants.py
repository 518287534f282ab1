"""What an expression is worth before it runs: strings put together, decoded, sliced, joined."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs

from redoma.judge.interpret.arg import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.languages.python.functions import Aliases

LONGEST = 65536
LARGEST = 1 << 20
MOST_WORK = 20_000
_SAME_TEXT = frozenset(
    "strip lower upper lstrip rstrip title decode encode format expanduser resolve "
    "absolute as_posix casefold".split()
)


class Constants:
    """Folds expressions under the names that the code has bound so far."""

    def __init__(self, names: Aliases, home: str) -> None:
        self.names = names
        self.home = home
        self.held: dict[str, object] = {}
        self.work = 0

    def fold(self, node: ast.AST | None) -> object:
        """A str (with marks where unknown), bytes, int, list, or None for what nobody can know."""
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
        """A list of words, with marks on those that nobody can know."""
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

    def _attribute(self, node: ast.Attribute) -> object:
        known = _KNOWN_ATTRIBUTES.get(self.names.of(node))
        if known is None and node.attr == "name" and self.fold(node.value) == _TEMPORARY:
            return _TEMPORARY
        return known

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


def _raw(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise ValueError("not known")


def _base64(args: list[object], _home: str) -> object:
    raw = _raw(args[0])
    return base64.b64decode(raw + b"=" * (-len(raw) % 4))


def _urlsafe(args: list[object], _home: str) -> object:
    raw = _raw(args[0])
    return base64.urlsafe_b64decode(raw + b"=" * (-len(raw) % 4))


def _codec(args: list[object], _home: str) -> object:
    name = str(args[1]).lower().replace("-", "_") if len(args) > 1 else "utf_8"
    if name in ("rot13", "rot_13"):
        return codecs.decode(str(args[0]), "rot13")
    if name in ("hex", "hex_codec"):
        return binascii.unhexlify(_raw(args[0]))
    if name in ("base64", "base64_codec"):
        return base64.b64decode(_raw(args[0]))
    if name in ("utf_8", "ascii", "latin_1", "unicode_escape"):
        return _raw(args[0]).decode(name)
    raise ValueError("unknown codec")


def _inflate(args: list[object], _home: str) -> object:
    import zlib

    # Attack: a small payload that unpacks to gigabytes; so the output is bounded.
    return zlib.decompressobj(wbits=47).decompress(_raw(args[0]), LARGEST)


def _joined_path(args: list[object], _home: str) -> object:
    return "/".join(str(a) if isinstance(a, str) else UNKNOWN for a in args)


def _expanded(args: list[object], home: str) -> object:
    text = str(args[0])
    return home + text[1:] if text.startswith("~") else text


def _variable(args: list[object], home: str) -> object:
    return home if args and args[0] == "HOME" else None


def _bytes(args: list[object], _home: str) -> object:
    if args and isinstance(args[0], list) and all(isinstance(a, int) for a in args[0]):
        return bytes(args[0])
    return _raw(args[0])


def _characters(args: list[object], _home: str) -> object:
    # `map(chr, […])`: chr itself folds to nothing, so the numbers decide.
    if len(args) == 2 and isinstance(args[1], list) and all(isinstance(a, int) for a in args[1]):
        return [chr(a) for a in args[1]]
    return None


_TEMPORARY = "/tmp/redoma-temporary"
"""Stands for a file whose name the tempfile module makes."""
_KNOWN_ATTRIBUTES = {
    "sys.executable": "python3",
    "os.sep": "/",
    "os.curdir": ".",
    "os.linesep": "\n",
}
DECODERS: dict[str, Callable[[list[object], str], object]] = {
    "base64.b64decode": _base64,
    "base64.standard_b64decode": _base64,
    "base64.decodebytes": _base64,
    "base64.decodestring": _base64,
    "base64.urlsafe_b64decode": _urlsafe,
    "base64.b32decode": lambda args, _: base64.b32decode(_raw(args[0])),
    "base64.b16decode": lambda args, _: base64.b16decode(_raw(args[0]), casefold=True),
    "base64.b85decode": lambda args, _: base64.b85decode(_raw(args[0])),
    "base64.a85decode": lambda args, _: base64.a85decode(_raw(args[0])),
    "binascii.unhexlify": lambda args, _: binascii.unhexlify(_raw(args[0])),
    "binascii.a2b_hex": lambda args, _: binascii.unhexlify(_raw(args[0])),
    "binascii.a2b_base64": _base64,
    "bytes.fromhex": lambda args, _: bytes.fromhex(str(args[0])),
    "bytearray.fromhex": lambda args, _: bytes.fromhex(str(args[0])),
    "codecs.decode": _codec,
    "codecs.encode": _codec,
    "zlib.decompress": _inflate,
    "gzip.decompress": _inflate,
    "os.path.join": _joined_path,
    "posixpath.join": _joined_path,
    "pathlib.Path": lambda args, _: _joined_path(args, _) if args else ".",
    "pathlib.PurePath": _joined_path,
    "pathlib.PosixPath": _joined_path,
    "pathlib.Path.home": lambda _args, home: home,
    "pathlib.Path.cwd": lambda _args, _home: ".",
    "os.getcwd": lambda _args, _home: ".",
    "os.path.expanduser": _expanded,
    "os.path.abspath": lambda args, _: args[0],
    "os.path.realpath": lambda args, _: args[0],
    "os.path.normpath": lambda args, _: args[0],
    "os.path.expandvars": lambda args, home: str(args[0]).replace("$HOME", home),
    "os.getenv": _variable,
    "os.environ.get": _variable,
    "glob.glob": lambda args, _: [args[0]],
    "glob.iglob": lambda args, _: [args[0]],
    "os.listdir": lambda _args, _home: [UNKNOWN],
    **dict.fromkeys(
        "tempfile.NamedTemporaryFile tempfile.TemporaryFile tempfile.TemporaryDirectory "
        "tempfile.mkdtemp tempfile.SpooledTemporaryFile tempfile.mktemp".split(),
        lambda _args, _home: _TEMPORARY,
    ),
    "tempfile.mkstemp": lambda _args, _home: [0, _TEMPORARY],
    "tempfile.gettempdir": lambda _args, _home: "/tmp",
    "chr": lambda args, _: chr(int(str(args[0]))),
    "str": lambda args, _: (
        args[0] if isinstance(args[0], str) else str(args[0]) if isinstance(args[0], int) else None
    ),
    "int": lambda args, _: int(str(args[0]), int(str(args[1])) if len(args) > 1 else 10),
    "bytes": _bytes,
    "bytearray": _bytes,
    "map": _characters,
    "list": lambda args, _: list(args[0]) if isinstance(args[0], list | str | bytes) else None,
    "reversed": lambda args, _: list(args[0])[::-1] if isinstance(args[0], list | str) else None,
    "sorted": lambda args, _: args[0],
    "shlex.split": lambda args, _: str(args[0]).split(),
    "shlex.quote": lambda args, _: args[0],
    "textwrap.dedent": lambda args, _: args[0],
}

_FOLDERS: dict[type, Callable[..., object]] = {
    ast.JoinedStr: Constants._joined,
    ast.FormattedValue: Constants._formatted,
    ast.Name: Constants._name,
    ast.Attribute: Constants._attribute,
    ast.List: Constants._sequence,
    ast.Tuple: Constants._sequence,
    ast.BinOp: Constants._operation,
    ast.Subscript: Constants._subscript,
    ast.UnaryOp: Constants._unary,
    ast.ListComp: Constants._comprehension,
    ast.GeneratorExp: Constants._comprehension,
    ast.Call: Constants._call,
}
