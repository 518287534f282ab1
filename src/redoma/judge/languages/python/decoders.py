"""Functions whose result is known when their arguments are: decoders, paths, characters."""

from __future__ import annotations

import base64
import binascii
import codecs

from redoma.judge.interpret.arg import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 1 << 20


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
