"""A command laid out for a person: folded to the screen, its risky parts marked, none left out.

Attack: a command is so long that the dangerous part scrolls away, or holds a line that looks like
the next line of the card. So what is not shown is said to be left out, the parts that were found
are always shown, and every row of a command stands behind a margin that nothing else has.
"""

from __future__ import annotations

from redoma.i18n import phrased
from redoma.model.display import cell, escape
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from redoma.model.script import Span

    Cell: TypeAlias = tuple[str, int, bool]  # what is shown, its columns, whether it is marked

MARGIN = " | "
GOES_ON = " : "
MOST_PARTS = 12
MOST_MARKS_ON_A_LETTER = 2


class Layout(Value):
    """How a command is shown."""

    width: int
    most_rows: int
    underline: bool = False  # else carets stand below the marked parts


def command_rows(text: str, spans: tuple[Span, ...], on: Layout) -> list[str]:
    """The command as rows, with every risky part in them."""
    room = max(10, on.width - len(MARGIN) - 1)
    parts = _parts(spans, len(text))
    breaks = text.count("\n") <= on.most_rows // 2
    whole = (text.count("\n") if breaks else 0) + len(text) // room < on.most_rows
    if not whole or _columns(text) > room * on.most_rows:
        windows = _windows(text, parts[:MOST_PARTS], room)
    else:
        windows = [(0, len(text))]
    shown: list[str] = []
    reached = 0
    for start, end in windows:
        if start > reached:
            shown.append(_left_out(start - reached))
        shown += _rows(text, (start, end), parts, room, on, breaks=breaks)
        reached = end
    if reached < len(text):
        shown.append(_left_out(len(text) - reached))
    if len(parts) > MOST_PARTS:
        shown.append(phrased("   ... and {0} more risky parts ...", len(parts) - MOST_PARTS))
    return shown


def _left_out(count: int) -> str:
    return phrased("   ... {0} characters not shown ...", count)


def _parts(spans: tuple[Span, ...], length: int) -> list[Span]:
    """The spans within the text, in their order, each once."""
    inside = ((max(0, start), min(end, length)) for start, end in spans)
    return list(dict.fromkeys((start, end) for start, end in inside if start < end))


def _columns(text: str) -> int:
    return len(text) if text.isascii() and text.isprintable() else sum(cell(c)[1] for c in text)


def _windows(text: str, parts: list[Span], room: int) -> list[Span]:
    """The stretches of a long text that are shown: its ends, and every part with what is near."""
    wanted = [(0, _forward(text, 0, 2 * room)), (_back(text, len(text), room), len(text))]
    for start, end in parts:
        first = _forward(text, start, room)
        wanted.append((_back(text, start, room // 3), min(first, _forward(text, end, room // 4))))
        if first < end:
            wanted.append((_back(text, end, room // 2), _forward(text, end, room // 4)))
    merged: list[Span] = []
    for start, end in sorted(wanted):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _forward(text: str, at: int, columns: int) -> int:
    while at < len(text) and columns > 0:
        columns -= max(1, cell(text[at])[1])
        at += 1
    return at


def _back(text: str, at: int, columns: int) -> int:
    while at > 0 and columns > 0:
        at -= 1
        columns -= max(1, cell(text[at])[1])
    return at


def _rows(
    text: str, window: Span, parts: list[Span], room: int, on: Layout, *, breaks: bool
) -> list[str]:
    shown: list[str] = []
    row: list[Cell] = []
    used = stacked = 0
    margin = MARGIN

    def finish(next_margin: str) -> None:
        nonlocal row, used, margin
        shown.extend(_painted(row, margin, on))
        row, used, margin = [], 0, next_margin

    for at in range(*window):
        char = text[at]
        if char == "\n" and breaks:
            finish(MARGIN)
            continue
        seen, wide = cell(char)
        stacked = stacked + 1 if wide == 0 else 0
        # Attack: marks that pile up on one letter until they cover the line above.
        if wide == 0 and (not row or stacked > MOST_MARKS_ON_A_LETTER):
            seen = escape(char)
            wide = len(seen)
        if used + wide > room:
            finish(GOES_ON)
        row.append((seen, wide, any(start <= at < end for start, end in parts)))
        used += wide
    finish(MARGIN)
    return shown


def _painted(row: list[Cell], margin: str, on: Layout) -> list[str]:
    if not on.underline:
        plain = margin + "".join(seen for seen, _, _ in row)
        carets = "".join(("^" if marked else " ") * wide for _, wide, marked in row).rstrip()
        return [plain, " " * len(margin) + carets] if carets else [plain]
    line = margin
    before = False
    for seen, _, marked in row:
        if marked is not before:
            line += "\x1b[1;4;31m" if marked else "\x1b[0m"
            before = marked
        line += seen
    return [line + ("\x1b[0m" if before else "")]


def fold(text: str, width: int) -> list[str]:
    """Text on rows of at most `width` columns, broken between words where that can be."""
    rows: list[str] = []
    row, used, stacked = "", 0, 0
    space = -1  # where in the row the last blank stands
    for char in text:
        seen, wide = cell(char)
        stacked = stacked + 1 if wide == 0 else 0
        if wide == 0 and (not row or stacked > MOST_MARKS_ON_A_LETTER):
            seen = escape(char)
            wide = len(seen)
        while used + wide > width and row:
            if space > 0 and char != " ":
                rows.append(row[:space])
                row = row[space + 1 :]
            else:
                rows.append(row)
                row = ""
            used, space = _columns(row), -1
        if char == " " and not row and rows:
            continue
        if char == " ":
            space = len(row)
        row += seen
        used += wide
    return [*rows, row] if row or not rows else rows


def middle_cut(text: str, most: int) -> str:
    """At most about `most` characters: the beginning and the end, and how much is between."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    between = phrased("... {0} characters not shown ...", len(text) - most)
    return f"{text[:head]} {between} {text[-tail:]}"
