"""Words after expansion: text with marks on what cannot be known, and on where it came from."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.script import Span

UNKNOWN = "\0"
"""Stands in a word for a stretch of text that only the running shell would know."""

PLAIN = 0
SECRET = 1
"""Holds, or may hold, what was read from a place that keeps secrets."""
NETWORK = 2
"""Came from another machine."""
DECODED = 4
"""Came out of a decoder (base64, xxd -r, gunzip …)."""
IDENTITY = 8
"""Tells who or where this machine is (whoami, hostname …)."""
BULK = 16
"""Holds a whole project, packed."""
EXACT = 1024
"""Is what one address answers over TLS, with nothing added, changed or left unchecked."""
NAMES = 32
"""Names given as a pattern that stands for them: nobody knows which there are."""


ENDLESS = 64
"""Never ends by itself: what `yes` prints, what `/dev/zero` holds."""
UNSET = 128
"""A variable that this script never set: where nobody else did, it is empty."""


class Arg(str):
    """A word as the program would get it; `taint` says what it carries, `span` where it stood."""

    __slots__ = ("span", "taint")
    span: Span
    taint: int

    @property
    def known(self) -> bool:
        return UNKNOWN not in self

    def like(self, text: str) -> Arg:
        """Another text from the same place."""
        return arg(text, self.span, self.taint)


def arg(text: str, span: Span, taint: int = PLAIN) -> Arg:
    """A word with its place and taint."""
    made = Arg(text)
    made.span = span
    made.taint = taint
    return made


class Stream:
    """What runs through a pipe or lies in a file: its text if known, and its taint."""

    __slots__ = ("source", "taint", "text")

    def __init__(self, text: str | None = None, taint: int = PLAIN, source: str = "") -> None:
        self.text = text
        self.taint = taint
        self.source = source

    def passed_through(self, taint: int = PLAIN) -> Stream:
        """What a filter makes of it: other text, the same taint and more."""
        return Stream(None, (self.taint | taint) & ~EXACT, self.source)

    def __repr__(self) -> str:
        return f"Stream({self.text!r}, taint={self.taint}, source={self.source!r})"


NOTHING = Stream("")
"""An empty input."""
ANYTHING = Stream(None)
"""An input of which nothing is known, such as the caller's own."""


def joined(outputs: list[Stream]) -> Stream:
    """Streams one after another."""
    if len(outputs) == 1:
        return outputs[0]
    taint = PLAIN
    texts: list[str] = []
    known = True
    source = ""
    for stream in outputs:
        taint |= stream.taint
        source = source or stream.source
        if stream.text is None:
            known = False
        else:
            texts.append(stream.text)
    return Stream("".join(texts) if known else None, taint, source)


def any_of(outputs: list[Stream]) -> Stream:
    """One of several streams, nobody knows which."""
    whole = joined(outputs)
    return whole if len(outputs) <= 1 else Stream(None, whole.taint, whole.source)
