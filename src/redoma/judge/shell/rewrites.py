"""Text that bash rewrites or decodes before it reads it, and where it stood before.

Line continuations go, backticks lose one layer of backslashes, `<<-` bodies lose their tabs,
`$'…'` is decoded. The tree is built on the rewritten text; `Offsets` moves its spans back.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from redoma.judge.shell import lexer
from redoma.judge.shell.cursor import Pieces
from redoma.judge.shell.lexer import script_of_region
from redoma.model.script import CommandSubstitution, Literal, Node, Script, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.judge.shell.cursor import Cursor

CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
HOLDING_NODES: dict[type[Node], tuple[str, ...]] = {}
WITHOUT_NODES = frozenset(
    "after append delimiter direction fd name negated op prefix quoted reason span subshell"
    " text timed".split()
)
ANSI_BODY = re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL)
ESCAPE = re.compile(
    r"\\(?:x\{([0-9a-fA-F]*)\}?|x([0-9a-fA-F]{1,2})|([0-7]{1,3})"
    r"|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(\\\\|.)|([abeEfnrtv\\'\"?]))",
    re.DOTALL,
)
SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
DELETE = b"\x7f"
LAST_CODE_POINT = 0x10FFFF
LIVE = re.compile(r"[$`]")
BACKTICK_BODY = re.compile(r"(?:[^`\\]++|\\.)*+", re.DOTALL)
UNESCAPE = re.compile(r"\\([$`\\])")
UNESCAPE_IN_QUOTES = re.compile(r"\\([$`\\\"])")


class Offsets:
    """Pieces kept from an outer text: piece i stands at `here[i]` inside and `there[i]` outside."""

    __slots__ = ("here", "there")

    def __init__(self, pieces: Iterable[tuple[int, int]]) -> None:
        self.here: list[int] = []
        self.there: list[int] = []
        for here, there in pieces:
            self.here.append(here)
            self.there.append(there)

    def start(self, position: int) -> int:
        """The outer position of the character at `position`."""
        at = bisect_right(self.here, position) - 1
        return self.there[at] + position - self.here[at]

    def end(self, position: int) -> int:
        """The outer position just after the character before `position`."""
        at = max(bisect_left(self.here, position) - 1, 0)
        return self.there[at] + position - self.here[at]

    def inside(self, outer: int) -> int:
        """The inner position of the first kept character at or after `outer`."""
        at = max(bisect_right(self.there, outer) - 1, 0)
        inner = self.here[at] + outer - self.there[at]
        if at + 1 < len(self.here):
            return min(inner, self.here[at + 1])
        return inner


class Everywhere(Offsets):
    """For text that was decoded: all of it stands at one span."""

    __slots__ = ("span",)

    def __init__(self, span: tuple[int, int]) -> None:
        super().__init__(())
        self.span = span

    def start(self, position: int) -> int:
        """The start of the span, whatever the position."""
        return self.span[0]

    def end(self, position: int) -> int:
        """The end of the span, whatever the position."""
        return self.span[1]


def joined_lines(original: str) -> tuple[str, Offsets]:
    """The text without its backslash-newlines, and where it stood."""
    kept: list[str] = []
    pieces = [(0, 0)]
    here = there = 0
    for found in CONTINUATION.finditer(original):
        stop = found.end(1)
        kept.append(original[there:stop])
        here += stop - there
        there = found.end()
        pieces.append((here, there))
    kept.append(original[there:])
    return "".join(kept), Offsets(pieces)


def relocate(roots: Iterable[Node], offsets: Offsets) -> None:
    """Move every span below `roots` to the outer text, each node once."""
    moved: set[int] = set()
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    waiting: list[object] = list(roots)
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            waiting.extend(item)
        elif isinstance(item, Node):
            if isinstance(item, Unread):
                # It stands both in its sequence and in its scripts, and must move only once.
                if id(item) in moved:
                    continue
                moved.add(id(item))
            span = spans.get(item.span)
            if span is None:
                start = offsets.start(item.span[0])
                span = spans[item.span] = (start, max(start, offsets.end(item.span[1])))
            item.span = span
            for name in HOLDING_NODES.get(type(item)) or _holding_nodes(type(item)):
                waiting.append(getattr(item, name))


def _holding_nodes(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node in which other nodes stand."""
    fields = {name for base in kind.__mro__ for name in getattr(base, "__slots__", ())}
    HOLDING_NODES[kind] = tuple(fields - WITHOUT_NODES)
    return HOLDING_NODES[kind]


def ansi_quote(r: Cursor, pieces: Pieces) -> None:
    """`$'…'`."""
    start = r.pos
    text = text_of_quote(r)
    if text is not None:
        pieces.add(text, start, r.pos, quoted=True)


def text_of_quote(r: Cursor) -> str | None:
    """What `$'…'` stands for; None, and noted, where it never ends."""
    start = r.pos
    found = ANSI_BODY.match(r.text, start + 2, r.end)
    close = found.end() if found is not None else r.end
    if not r.text.startswith("'", close, r.end):
        r.pos = max(r.pos, r.end)
        r.fail("a $' quote that never ends", start, r.end)
        return None
    r.pos = close + 1
    return decode(r.raw(start + 2, close))


def decode(text: str) -> str:
    """The characters that `$'text'` stands for; bytes that are no UTF-8 become surrogates."""
    if "\\" not in text:
        return text
    parts: list[bytes] = []
    last = 0
    for found in ESCAPE.finditer(text):
        parts.append(_encode(text[last : found.start()]))
        parts.append(_bytes_of(found))
        last = found.end()
    parts.append(_encode(text[last:]))
    whole = b"".join(parts)
    # bash keeps the result as a C string: `$'rm\0x'` is `rm`.
    return whole.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _bytes_of(found: re.Match[str]) -> bytes:
    braced, pair, octal, short, long, control, simple = found.groups()
    if simple is not None:
        return SIMPLE[simple].encode()
    if control is not None:
        if control == "?":
            return DELETE
        first, *rest = _encode(control[-1])
        return bytes([first & 0x1F, *rest])
    if short is not None or long is not None:
        code = int(short or long, 16)
        return _encode(chr(code)) if code <= LAST_CODE_POINT else "\ufffd".encode()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    return bytes([int((braced if pair is None else pair) or "0", 16) & 0xFF])


def live_single(r: Cursor, pieces: Pieces) -> None:
    """`'…'` where bash pairs the quotes but still expands between them.

    Attack: `"${x-'$(id)'}"`, `$(( '$(id)' ))` and `a['$(id)']=` run `id`, although it looks
    quoted.
    """
    start = r.pos
    close = lexer.closing_apostrophe(r, start)
    if close < 0 or not r.deeper():
        return
    pieces.add("'", start, start + 1, quoted=True)
    r.pos = start + 1
    limit = r.confine(close)
    lexer.quoted_text(r, pieces, "")
    r.release(limit, close + 1)
    pieces.add("'", close, close + 1, quoted=True)
    r.depth -= 1


def subscript_key(r: Cursor, pieces: Pieces) -> None:
    """`'…'` in a subscript: a key of its own where nothing in it could be expanded."""
    close = r.text.find("'", r.pos + 1, r.end)
    if close >= 0 and LIVE.search(r.text, r.pos, close):
        live_single(r, pieces)
    else:
        lexer.single_quote(r, pieces)


def live_ansi(r: Cursor, pieces: Pieces) -> None:
    """`$'…'` where bash decodes it first and expands the result afterwards.

    Attack: `"${x:-$'\\x24(id)'}"` runs `id`.
    """
    start = r.pos
    text = text_of_quote(r)
    if text is None:
        return
    if not LIVE.search(text) or not r.deeper():
        pieces.add(text, start, r.pos, quoted=True)
        return
    span = (start, r.pos)
    inner = r.within(text)
    inside = Pieces()
    lexer.quoted_text(inner, inside, "")
    parts = inside.done()
    relocate((*parts, *inner.unread), Everywhere(span))
    for part in parts:
        if isinstance(part, Literal):
            pieces.add(part.text, *span, quoted=True)
        else:
            pieces.put(part)
    r.repay(inner)
    r.depth -= 1


def backtick(r: Cursor, pieces: Pieces, *, quoted: bool, in_double_quotes: bool = False) -> None:
    """`` `…` ``: everything up to the next unescaped backtick, less one layer of backslashes."""
    start = r.pos
    found = BACKTICK_BODY.match(r.text, start + 1, r.end)
    close = found.end() if found is not None else r.end
    if not r.deeper():
        return
    if r.text.find("\\", start + 1, close) < 0:
        r.pos = start + 1
        limit = r.confine(close)
        script = script_of_region(r)
        r.release(limit, close)
    else:
        script = unescaped_script(r, start + 1, close, in_double_quotes=in_double_quotes)
    r.depth -= 1
    if r.stopped:
        pass
    elif r.text.startswith("`", close, r.end):
        r.pos = close + 1
    else:
        r.fail("a backtick that never ends", start, r.end)
        r.pos = r.end
    pieces.put(CommandSubstitution(script, quoted, (start, r.pos)))


def unescaped_script(r: Cursor, begin: int, finish: int, *, in_double_quotes: bool) -> Script:
    """The script between backticks whose backslashes must go before it can be read."""
    escape = UNESCAPE_IN_QUOTES if in_double_quotes else UNESCAPE
    source = r.text[begin:finish]
    offsets = Offsets(_kept_after_unescaping(source, begin, escape))
    inner = r.within(escape.sub(r"\1", source))
    script = script_of_region(inner)
    if inner.offsets is not None:
        relocate((script,), inner.offsets)
        script.text = inner.original
    relocate((script,), offsets)
    r.repay(inner)
    return script


def _kept_after_unescaping(
    source: str, begin: int, escape: re.Pattern[str]
) -> list[tuple[int, int]]:
    pieces = [(0, begin)]
    for count, found in enumerate(escape.finditer(source)):
        # The character after the backslash is kept; `count` backslashes are gone before it.
        pieces.append((found.start() - count, begin + found.start() + 1))
    return pieces
