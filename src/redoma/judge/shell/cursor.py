"""The place in the text where reading stands, what is still owed, and how much may still be spent.

Every function of this package takes a `Cursor` and moves it forward. Nothing raises: what cannot
be read is noted with `fail`, and reading goes on after it.
"""

from __future__ import annotations

import re

from redoma.model.script import Literal, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from redoma.judge.shell.rewrites import Offsets
    from redoma.model.script import Part, Redirect, Sequence, Word

    ReadCommands: TypeAlias = Callable[["Cursor", frozenset[str]], Sequence]

# A command list costs two of these, a quote or a bracket one, and each is some five Python frames:
# the deepest text needs fewer than 600 of them.
DEPTH = 100
# Some 2 µs each: the nastiest 64 KiB is given up on before a tenth of a second has passed.
STEPS = 32_000
BLANKS = re.compile(r"[ \t]*")
EMPTY_LINES = re.compile(r"[ \t\n]+")
# A word in command position that may be a reserved word: no quotes, no `$`, up to its end.
HEAD = re.compile(r"[^ \t\n;&|<>()\\'\"$`#][^ \t\n;&|<>()\\'\"$`]*(?=[ \t\n;&|()]|[<>](?!\()|\Z)")
NESTED_TOO_DEEPLY = "nested too deeply"
TOO_LARGE = "too large to read"


class Pieces:
    """The parts read so far, and the literal that is still growing."""

    __slots__ = ("_chunks", "_end", "_quoted", "_start", "parts")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._chunks: list[str] = []
        self._quoted = False
        self._start = 0
        self._end = 0

    def add(self, text: str, start: int, end: int, *, quoted: bool) -> None:
        """Add text that stands at `start` to `end` of the source."""
        if self._chunks and self._quoted is not quoted:
            self.flush()
        if not self._chunks:
            self._quoted = quoted
            self._start = start
        self._chunks.append(text)
        self._end = end

    def put(self, part: Part) -> None:
        """Add a substitution."""
        if self._chunks:
            self.flush()
        self.parts.append(part)

    def extend(self, word: Word) -> None:
        """Add all parts of a word."""
        for part in word.parts:
            if isinstance(part, Literal):
                self.add(part.text, *part.span, quoted=part.quoted)
            else:
                self.put(part)

    def flush(self) -> None:
        """End the growing literal."""
        if self._chunks:
            text = "".join(self._chunks)
            self.parts.append(Literal(text, self._quoted, (self._start, self._end)))
            self._chunks = []

    def done(self) -> tuple[Part, ...]:
        """All parts in order."""
        self.flush()
        return tuple(self.parts)

    def mark(self) -> int:
        """A point to come back to with `drop_text`."""
        return len(self.parts) + (1 if self._chunks and not self._quoted else 0)

    def drop_text(self, mark: int) -> None:
        """Forget literals since `mark` but keep substitutions: a quote that never ended."""
        self.flush()
        self.parts[mark:] = [p for p in self.parts[mark:] if not isinstance(p, Literal)]


class PendingBody:
    """A here-document whose operator was read and whose body begins after the next newline."""

    __slots__ = ("delimiter", "quoted", "redirect")

    def __init__(self, redirect: Redirect, delimiter: str, *, quoted: bool) -> None:
        self.redirect = redirect
        self.delimiter = delimiter
        self.quoted = quoted


class Cursor:
    """A position in a text from which line continuations have been taken out."""

    __slots__ = (
        "bodies",
        "closes",
        "depth",
        "end",
        "extglob",
        "in_substitution",
        "offsets",
        "original",
        "pending",
        "pos",
        "read_commands",
        "steps",
        "stopped",
        "text",
        "unread",
    )

    def __init__(
        self,
        original: str,
        *,
        read_commands: ReadCommands,
        extglob: bool,
    ) -> None:
        self.original = original
        self.offsets: Offsets | None = None
        self.text = original
        self.steps = STEPS
        if "\\\n" in original:
            # Take them out; quotes, comments and bodies look at the original again.
            from redoma.judge.shell.rewrites import joined_lines

            self.text, self.offsets = joined_lines(original)
            # Moving the spans back costs as well.
            self.steps = STEPS * 2 // 3
        self.pos = 0
        self.end = len(self.text)
        self.extglob = extglob
        self.read_commands = read_commands
        self.depth = 0
        self.stopped = False
        self.in_substitution = False
        self.unread: list[Unread] = []
        # Unread stretches that wait for the nearest command list to take them in.
        self.pending: list[Unread] = []
        self.bodies: list[PendingBody] = []
        # Where brackets close by counting, so that none is counted twice: by position, limit, and
        # whether `$(…)` is skipped.
        self.closes: dict[tuple[int, int, bool], int] = {}

    def within(self, text: str) -> Cursor:
        """A reader for a rewritten stretch of this text, on half the budget.

        What it reads is moved once more afterwards, and again for each level of rewriting.
        """
        inner = Cursor(
            text,
            read_commands=self.read_commands,
            extglob=self.extglob,
        )
        inner.depth = self.depth
        inner.steps = self.steps // 2
        return inner

    def repay(self, inner: Cursor) -> None:
        """Take over what `inner`, made by `within`, could not read and what it has spent."""
        self.steps -= 10 + (self.steps // 2 - inner.steps) * 3 // 2
        self.unread.extend(inner.unread)
        self.pending.extend(inner.pending)

    # What went wrong ----------------------------------------------------------------------------

    def fail(self, reason: str, start: int, end: int) -> None:
        """Note a stretch that cannot be read; reading may go on after it."""
        if self.stopped:
            return
        self.steps -= 5
        unread = Unread(reason, (start, end))
        self.unread.append(unread)
        self.pending.append(unread)

    def noted(self) -> tuple[int, int]:
        """How much has been noted as unread, for `forget`."""
        return len(self.unread), len(self.pending)

    def forget(self, before: tuple[int, int]) -> None:
        """Drop what an attempt has noted: the same text is read again in another way."""
        if not self.stopped:
            del self.unread[before[0] :]
            del self.pending[before[1] :]

    def give_up(self, reason: str) -> None:
        """Leave all that follows unread: what is beyond our means is never half understood.

        The limit of the text moves to its start, so that nothing more is read wherever the
        reader is put by those who are still at work.
        """
        self.fail(reason, min(self.pos, len(self.text)), len(self.text))
        self.stopped = True
        self.pos = len(self.text)
        self.end = 0

    def spend(self, steps: int) -> None:
        """Pay for work done; all is given up when there is nothing left to pay with."""
        self.steps -= steps
        if self.steps < 0 and not self.stopped:
            self.give_up(TOO_LARGE)

    def deeper(self, units: int = 1) -> bool:
        """Go one level down; False, with all given up, where that is one too many."""
        self.depth += units
        if self.depth > DEPTH:
            self.give_up(NESTED_TOO_DEEPLY)
            return False
        if self.steps < 0:
            self.give_up(TOO_LARGE)
            return False
        return True

    # Moving on ----------------------------------------------------------------------------------

    def confine(self, end: int) -> int:
        """Read no further than `end`; gives the earlier limit for `release`."""
        limit = self.end
        if not self.stopped:
            self.end = end
        return limit

    def release(self, limit: int, pos: int) -> None:
        """Lift a confinement and stand at `pos`."""
        if not self.stopped:
            self.end = limit
            self.pos = pos

    def raw(self, start: int, end: int) -> str:
        """The text between two positions with its continuations still in it (single quotes)."""
        if self.offsets is None:
            return self.text[start:end]
        self.steps -= 2
        return self.original[self.offsets.end(start) : self.offsets.start(end)]

    def blanks(self) -> str:
        """Skip spaces and tabs; the character that stands there then, or "" at the end."""
        found = BLANKS.match(self.text, self.pos, self.end)
        if found is not None:
            self.pos = found.end()
        return self.text[self.pos] if self.pos < self.end else ""

    def end_line(self) -> None:
        """Consume a newline, with the comment before it and the here-documents after it."""
        if self.text[self.pos] == "#":
            self._comment()
        else:
            self.pos += 1
        self.read_bodies()

    def read_bodies(self) -> None:
        """Read the here-documents that were announced, the reader standing after a newline."""
        if self.bodies:
            from redoma.judge.shell import heredoc

            heredoc.read_bodies(self)

    def _comment(self) -> None:
        # A backslash at the end of a comment continues nothing, so the newline is looked for in
        # the original text: `# note \` must not swallow the command on the next line.
        if self.offsets is None:
            newline = self.text.find("\n", self.pos, self.end)
            self.pos = newline + 1 if newline >= 0 else self.end
            return
        self.steps -= 3
        newline = self.original.find("\n", self.offsets.start(self.pos))
        after = self.offsets.inside(newline + 1) if newline >= 0 else self.end
        self.pos = min(after, self.end)

    def lines(self) -> str:
        """Skip blanks, newlines and comments; the character that stands there then, or ""."""
        while True:
            char = self.text[self.pos] if self.pos < self.end else ""
            if char == "#" or (char == "\n" and self.bodies):
                self.end_line()
            elif char in (" ", "\t") and self.bodies:
                self.blanks()
            elif char in (" ", "\t", "\n"):
                found = EMPTY_LINES.match(self.text, self.pos, self.end)
                self.pos = found.end() if found is not None else self.end
            else:
                return char

    def head(self) -> str:
        """The unquoted word that stands here, without consuming it, else ""."""
        found = HEAD.match(self.text, self.pos, self.end)
        return found.group() if found is not None else ""

    def keyword(self, word: str) -> bool:
        """Consume `word` if it stands here as a word of its own."""
        if self.head() != word:
            return False
        self.pos += len(word)
        return True
