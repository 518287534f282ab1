"""A decision as a person reads it: level, decision, and each reason under its part."""

from __future__ import annotations

import os

from redoma.base.text import cell, harmless
from redoma.i18n import phrased
from redoma.model.decision import Risk, Verdict
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Span: TypeAlias = tuple[int, int]
    from typing import TextIO

    from redoma.model.decision import Decision, Finding

INDENT = "  "
LEAD = 24  # columns of a long line that are shown before the part
CUT = "..."
NARROWEST = 50  # columns that text under a part needs; with fewer it starts at the left


class Note:
    """A part of the text and what to write under it: the label, then lines of their own."""

    __slots__ = ("below", "label", "paint", "span")

    def __init__(
        self, span: Span, label: str, *, below: tuple[str, ...] = (), paint: str = ""
    ) -> None:
        self.span = span
        self.label = label
        self.below = below
        self.paint = paint


def excerpt(text: str, notes: list[Note], width: int) -> list[str]:
    """Lines that show the text once and every note under its part."""
    starts = [0]
    for at, char in enumerate(text):
        if char == "\n":
            starts.append(at + 1)
    ends = [start - 1 for start in starts[1:]] + [len(text)]
    by_line: dict[int, list[Note]] = {}
    for note in notes:
        by_line.setdefault(_line_of(note.span[0], ends), []).append(note)
    numbered = len(starts) > 1
    digits = len(str(max(by_line, default=0) + 1))
    shown: list[str] = []
    for line in sorted(by_line):
        gutter = f"{INDENT}{line + 1:>{digits}} | " if numbered else INDENT
        under = f"{INDENT}{'':>{digits}} | " if numbered else INDENT
        shown += _one_line(text, (starts[line], ends[line]), by_line[line], (gutter, under), width)
    return shown


def _line_of(at: int, ends: list[int]) -> int:
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < at:
            low = middle + 1
        else:
            high = middle
    return low


def _one_line(
    text: str, line: Span, notes: list[Note], gutters: tuple[str, str], width: int
) -> list[str]:
    start, end = line
    cells = [cell(char) for char in text[start:end]]
    columns = [0]
    for _, wide in cells:
        columns.append(columns[-1] + wide)
    room = max(40, width - len(gutters[0]) - 2 * len(CUT))
    windows: list[tuple[Span, list[Note]]] = []
    for note in notes:
        first, last = _inside(note.span, line)
        for window, members in windows:
            if window[0] <= first and last <= window[1]:
                members.append(note)
                break
        else:
            windows.append((_window(columns, first, last, room), [note]))
    shown: list[str] = []
    for (first, last), members in windows:
        before = CUT if first > 0 else ""
        after = CUT if last < len(cells) else ""
        shown.append(gutters[0] + before + "".join(c for c, _ in cells[first:last]) + after)
        for note in members:
            part = _inside(note.span, line)
            left = len(before) + columns[max(part[0], first)] - columns[first]
            carets = columns[min(part[1], last)] - columns[max(part[0], first)]
            on = phrased(" (goes on below)") if min(note.span[1], len(text)) > end + 1 else ""
            shown += _under(note, " " * left, "^" * max(1, carets) + on, gutters[1], width)
    return shown


def _inside(span: Span, line: Span) -> Span:
    """The span within its first line, counted from the start of the line."""
    start, end = line
    first = min(max(span[0], start), end)
    return first - start, max(min(span[1], end), first) - start


def _window(columns: list[int], first: int, last: int, room: int) -> Span:
    """The stretch of characters around a part that fits the room; the part's start always does."""
    count = len(columns) - 1
    if columns[-1] <= room:
        return 0, count
    lead = min(LEAD, max(0, room - (columns[last] - columns[first])))
    low = first
    while low > 0 and columns[first] - columns[low - 1] <= lead:
        low -= 1
    high = low
    while high < count and columns[high + 1] - columns[low] <= room:
        high += 1
    while low > 0 and columns[high] - columns[low - 1] <= room:
        low -= 1
    return low, high


def _under(note: Note, left: str, carets: str, gutter: str, width: int) -> list[str]:
    """The carets, the label beside them where it fits, else below; then the note's own lines."""
    on, off = (note.paint, "\x1b[0m") if note.paint else ("", "")
    room = width - len(gutter) - len(left)
    margin = left if room >= NARROWEST else ""
    if len(carets) + 1 + len(note.label) <= room:
        lines = [f"{gutter}{left}{on}{carets} {note.label}{off}"]
    else:
        lines = [f"{gutter}{left}{on}{carets}{off}"]
        parts = wrap(note.label, width - len(gutter) - len(margin))
        lines += [f"{gutter}{margin}{on}{part}{off}" for part in parts]
    for own in note.below:
        parts = wrap(own, width - len(gutter) - len(margin))
        lines += [f"{gutter}{margin}{part}" for part in parts]
    return lines


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` characters, broken between words."""
    lines: list[str] = []
    current = ""
    for word in text.split(" "):
        if current and len(current) + 1 + len(word) > width:
            lines.append(current)
            current = f"{INDENT}{word}"
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current]


WIDTH = 100  # where there is no terminal to ask
MOST_NOTES = 20
SAID = {
    Verdict.ALLOW: "allowed",
    Verdict.LOG: "allowed, and logged",
    Verdict.CONFIRM: "needs confirmation",
    Verdict.DENY: "denied",
}
PAINT = {
    Risk.SAFE: "\x1b[32m",
    Risk.MODERATE: "\x1b[36m",
    Risk.ELEVATED: "\x1b[33m",
    Risk.DANGEROUS: "\x1b[31m",
    Risk.FORBIDDEN: "\x1b[1;31m",
}


class Screen(Value):
    """What the reader's screen can do."""

    width: int = WIDTH
    colour: bool = False


def screen(stream: TextIO) -> Screen:
    """The screen behind a stream; colour only on a terminal whose user has not said NO_COLOR."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return Screen()
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(width=max(40, min(columns or WIDTH, 160)), colour=wanted)


def report(decision: Decision, on: Screen) -> str:
    """The whole answer, ending in a newline."""
    found = decision.assessment
    head = f"{phrased(decision.level or found.risk.label)}: {phrased(SAID[decision.verdict])}"
    if on.colour:
        head = f"{PAINT[found.risk]}{head}\x1b[0m"
    by = phrased("(policy {0}, pack {1})", harmless(decision.policy), harmless(found.pack))
    lines = [f"{head}  {by}"]
    shown = found.findings[:MOST_NOTES]
    if shown:
        said: set[str] = set()
        held = {each.key: each.by.words for each in decision.held}
        notes = [_note(finding, on, said, held.get(finding.key, "")) for finding in shown]
        lines += ["", *excerpt(found.text, notes, on.width)]
    if len(found.findings) > len(shown):
        more = len(found.findings) - len(shown)
        lines.append(INDENT + phrased("and {0} more (--json shows all)", more))
    lines += _other_reasons(decision, on)
    return "\n".join(lines) + "\n"


def _note(finding: Finding, on: Screen, said: set[str], held: str = "") -> Note:
    """A finding's note; a safer way that was `said` already is not said again."""
    kept = (phrased("held by {0}", phrased(held)),) if held else ()
    instead = "" if finding.alternative in said else harmless(phrased(finding.alternative))
    said.add(finding.alternative)
    return Note(
        finding.span,
        f"{phrased(finding.risk.label)}: {harmless(phrased(finding.reason))} [{finding.rule}]",
        below=kept or ((phrased("instead: {0}", instead),) if instead else ()),
        paint=PAINT[finding.risk] if on.colour else "",
    )


def _other_reasons(decision: Decision, on: Screen) -> list[str]:
    """What the policy says beyond the findings, where it says anything."""
    told = {finding.reason for finding in decision.assessment.findings}
    own = [harmless(phrased(reason)) for reason in decision.because if reason not in told]
    lines = [part for reason in own for part in wrap(f"{INDENT}{reason}", on.width)]
    return ["", *lines] if lines else []
