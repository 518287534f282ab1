"""Finds known secrets in bytes that come in pieces, as they are and in the dress of other formats.

Whoever looks for a secret knows it by value. It may stand there quoted for a URL, a shell or JSON,
in hex, or in base64 at any offset, in lines as `base64` folds them. What else can be made of it
(turned round, in pieces) is found by nobody.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ENDS = b"\r\n"
# So much of a secret before the end of a line is waited for: less ends too many lines by chance.
_BEFORE_AN_END = 4


class SecretSearch:
    """One stream on its way through: stars stand for each secret, so that lengths stay."""

    __slots__ = ("_firsts", "_held", "_hidden", "_longest", "_pattern")

    def __init__(self, hidden: Iterable[bytes]) -> None:
        self._hidden = tuple(sorted({each for each in hidden if each}, key=len, reverse=True))
        self._longest = len(self._hidden[0]) if self._hidden else 0
        self._firsts = frozenset(each[0] for each in self._hidden)
        self._pattern: re.Pattern[bytes] | None = None
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What can be said so far; what may be the beginning of a secret is held back."""
        whole = self.starred(self._held + data)
        end = len(whole) - self._unfinished(whole)
        self._held = whole[end:]
        return whole[:end]

    def finish(self) -> bytes:
        """What was held back."""
        left, self._held = self._held, b""
        return left

    def starred(self, data: bytes) -> bytes:
        """The same with stars for each secret."""
        plain = data.translate(None, _ENDS)
        if not any(each in plain for each in self._hidden):
            return data
        if self._pattern is None:
            between = rb"(?:\r?\n)?"
            spelled = (between.join(re.escape(bytes((c,))) for c in e) for e in self._hidden)
            self._pattern = re.compile(b"|".join(spelled))
        return self._pattern.sub(lambda found: re.sub(rb"[^\r\n]", b"*", found[0]), data)

    def _unfinished(self, data: bytes) -> int:
        """How many of the last bytes may be the beginning of a secret."""
        tail = data[-2 * self._longest :] if self._longest else b""
        for start, first in enumerate(tail):
            if first not in self._firsts:
                continue
            piece = tail[start:]
            plain = piece.translate(None, _ENDS)
            if len(plain) < len(piece) and len(plain) < _BEFORE_AN_END:
                continue
            if any(each.startswith(plain) for each in self._hidden):
                return len(piece)
        return 0


def hidden_forms(value: str) -> set[bytes]:
    """Every form in which a secret of ours is looked for in what comes back from a command."""
    raw = value.encode("utf-8", "surrogateescape")
    escaped = "".join(f"%{byte:02x}" for byte in raw)
    made = encoded_forms(raw, shortest=6) | {escaped.encode(), escaped.upper().encode()}
    return made


def encoded_forms(raw: bytes, *, shortest: int = 8) -> set[bytes]:
    """Every way in which a value may stand in a text; hex and base64 of so many bytes and more."""
    import json
    from binascii import hexlify
    from urllib.parse import quote_from_bytes, quote_plus

    text = raw.decode("utf-8", "surrogateescape")
    made = {raw, text.encode("utf-8", "surrogatepass")}
    quoted = quote_from_bytes(raw, safe="")
    made |= {quoted.encode(), quote_from_bytes(raw).encode(), quote_plus(raw).encode()}
    made.add(_lower_escapes(quoted).encode())
    for ascii_only in (True, False):
        inside = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        made.add(inside.encode("utf-8", "surrogateescape"))
    made.add(raw.replace(b"'", b"'\"'\"'"))
    made.add(raw.replace(b"'", b"'\\''"))
    made.add(b"".join(_shell_escaped(raw)))
    made.add(raw.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;"))
    if len(raw) >= shortest:
        made |= {hexlify(raw), hexlify(raw).upper(), *_base64_cores(raw, shortest)}
    return {form for form in made if form}


def _lower_escapes(quoted: str) -> str:
    parts = quoted.split("%")
    return parts[0] + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts[1:])


def _shell_escaped(raw: bytes) -> Iterator[bytes]:
    """Each special character behind a backslash, as `printf %q` writes it."""
    for char in raw:
        one = bytes((char,))
        yield one if one.isalnum() or one in b"_-./:=@%+," or char > 0x7F else b"\\" + one


def _base64_cores(raw: bytes, shortest: int) -> Iterator[bytes]:
    """What base64 of any text around the value has in common, at each of three alignments.

    Attack: `user:password` in a header of basic authentication hides the password at any offset.
    """
    from base64 import b64encode

    for before in range(3):
        whole = b64encode(b"\0" * before + raw)
        first = (before * 8 + 5) // 6
        last = (before + len(raw)) * 8 // 6
        core = whole[first:last]
        if len(core) >= shortest:
            yield core
            yield core.replace(b"+", b"-").replace(b"/", b"_")
