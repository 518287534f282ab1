"""Reads backticks, whose backslashes go before what stands inside is read."""

from __future__ import annotations

import re

from redoma.judge.shell.expansion import script_of_region
from redoma.judge.shell.offsets import Offsets, relocate
from redoma.model.script import CommandSubstitution, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.shell.pieces import Pieces
    from redoma.judge.shell.reader import Reader

BODY = re.compile(r"(?:[^`\\]++|\\.)*+", re.DOTALL)
UNESCAPE = re.compile(r"\\([$`\\])")
UNESCAPE_IN_QUOTES = re.compile(r"\\([$`\\\"])")


def backtick(r: Reader, pieces: Pieces, *, quoted: bool, in_double_quotes: bool = False) -> None:
    """`` `…` ``: everything up to the next unescaped backtick, less one layer of backslashes."""
    start = r.pos
    found = BODY.match(r.text, start + 1, r.end)
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


def unescaped_script(r: Reader, begin: int, finish: int, *, in_double_quotes: bool) -> Script:
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
