"""The card that a person decides by: what would run, why that is asked, and what it would touch."""

from __future__ import annotations

from redoma.ask.approvals import can_remember, prefix_of
from redoma.ask.hidden import safely, without_secrets
from redoma.base.text import cell, escape
from redoma.i18n import phrased
from redoma.model.decision import Risk
from redoma.model.request import Choice, Remember
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from redoma.model.script import Span

    Cell: TypeAlias = tuple[str, int, bool]  # what is shown, its columns, whether it is marked
    from collections.abc import Callable

    from redoma.model.request import Question

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
        shown.append(
            phrased("   ... and {count} more risky parts ...", count=len(parts) - MOST_PARTS)
        )
    return shown


def _left_out(count: int) -> str:
    return phrased("   ... {count} characters not shown ...", count=count)


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
    between = phrased("... {count} characters not shown ...", count=len(text) - most)
    return f"{text[:head]} {between} {text[-tail:]}"


LABEL = 9
NARROWEST, WIDEST = 30, 100
MOST_REASONS = 6
MOST_FILES = 8
MOST_BEFORE = 3
LONGEST_TEXT = 400
_PAINT = {Risk.DANGEROUS: "\x1b[1;31m", Risk.ELEVATED: "\x1b[1;33m"}


class Look(Value):
    """What the screen can do."""

    columns: int = 80
    rows: int = 24
    colour: bool = False


class CardKey(Value):
    """One key, and what it says."""

    key: str
    choice: Choice
    words: str
    remember: Remember = Remember.ONCE


def keys_for(question: Question) -> tuple[CardKey, ...]:
    """The answers that this question can have."""
    possible = can_remember(question)
    found = [
        CardKey(key="a", choice=Choice.APPROVE, words="approve, once"),
        CardKey(key="d", choice=Choice.DENY, words="deny"),
        CardKey(key="p", choice=Choice.DRY_RUN, words="preview: a dry run"),
        CardKey(key="m", choice=Choice.MODIFY, words="modify the command"),
    ]
    lasting = (
        ("s", Remember.SESSION, "approve for this session"),
        ("e", Remember.EXACT, "always approve exactly this"),
        (
            "x",
            Remember.PREFIX,
            phrased("always approve: {prefix} ...", prefix=" ".join(prefix_of(question))),
        ),
    )
    found += [
        CardKey(key=key, choice=Choice.APPROVE, words=words, remember=remember)
        for key, remember, words in lasting
        if remember in possible
    ]
    return tuple(found)


def card(question: Question, look: Look, redact: Callable[[str], str]) -> list[str]:
    """The whole card, as lines that fit the screen and on which nothing but us acts."""
    width = max(NARROWEST, min(look.columns - 1, WIDEST))
    level = phrased(question.safety_level or question.risk.label).upper()
    title = phrased("redoma: may this run?  {level}", level=middle_cut(level, 24))
    head = [_rule(width), *fold(title, width), ""]
    if look.colour:
        head[1] = f"{_PAINT.get(question.risk, chr(27) + '[1m')}{head[1]}\x1b[0m"
    choices = ["", *_choices(question, width), _rule(width)]
    # One row before the card, and the prompt below it.
    room = look.rows - len(head) - len(choices) - 2
    return [*head, *_fitting(question, look, redact, room), *choices]


# What goes first where the screen has no room for all: a person decides by the command, why it is
# asked and what cannot be undone.
_CAN_GO = ("before", "policy", "asked", "in", "files", "touches", "instead")


def _fitting(question: Question, look: Look, redact: Callable[[str], str], room: int) -> list[str]:
    """The description in so many rows, where that can be: the command is not what scrolls away."""
    lines = description(question, look, redact)
    gone: list[str] = []
    for label in _CAN_GO:
        if len(lines) <= room:
            return lines
        gone.append(label)
        lines = description(question, look, redact, without=frozenset(gone))
    for reasons in (3, 2, 1):
        if len(lines) > room:
            lines = description(question, look, redact, without=frozenset(gone), reasons=reasons)
    return lines


def description(
    question: Question,
    look: Look,
    redact: Callable[[str], str],
    *,
    without: frozenset[str] = frozenset(),
    reasons: int = 0,
) -> list[str]:
    """What would run and what is known of it, without the answers to choose from.

    `without` are labels to leave out, `reasons` is how many of them are said.
    """
    width = max(NARROWEST, min(look.columns - 1, WIDEST))
    text, spans = without_secrets(question.command, question.spans, redact)
    layout = Layout(width=width, most_rows=max(8, look.rows - 14), underline=look.colour)
    lines = [*command_rows(text, spans, layout), ""]
    last = ""
    for label, said in _said(question, reasons or MOST_REASONS):
        last = label or last
        if last in without:
            continue
        lines += _labelled(label, safely(redact, said), width)
    return lines


def _rule(width: int) -> str:
    return "-" * width


def _said(question: Question, most: int) -> list[tuple[str, str]]:
    """What there is to say, each with its label; the order is that of a person's own questions."""
    said = [
        ("why" if not at else "", phrased(why)) for at, why in enumerate(question.because[:most])
    ]
    if len(question.because) > most:
        more = len(question.because) - most
        said.append(("", phrased("and {count} more reasons", count=more)))
    said += _touches(question)
    if question.alternative:
        said.append(("instead", phrased(question.alternative)))
    where = question.cwd or question.workspace
    if where:
        said.append(("in", where))
    context = question.context
    asker = [context.triggered_by and phrased("by {who}", who=context.triggered_by)]
    asker += [context.workflow_phase and phrased("in phase {phase}", phase=context.workflow_phase)]
    asker += [question.session and phrased("session {session}", session=question.session)]
    if any(asker):
        said.append(("asked", ", ".join(part for part in asker if part)))
    for at, before in enumerate(context.previous_commands[-MOST_BEFORE:]):
        said.append(("before" if not at else "", before))
    if question.policy:
        said.append(("policy", question.policy))
    return said


def _touches(question: Question) -> list[tuple[str, str]]:
    impact = question.impact
    said = []
    if impact.estimated_scope:
        said.append(("touches", phrased(impact.estimated_scope)))
    shown = impact.files_affected[:MOST_FILES]
    said += [("files" if not at else "", path) for at, path in enumerate(shown)]
    if len(impact.files_affected) > len(shown):
        said.append(
            ("", phrased("and {count} more", count=len(impact.files_affected) - len(shown)))
        )
    network = "no network that we know of"
    if impact.network_access:
        closed = impact.network_closed
        network = "reaches for the network, closed to it" if closed else "reaches the network"
    undo = "can be undone" if impact.reversible else "CANNOT be undone"
    return [*said, ("effect", f"{phrased(undo)}; {phrased(network)}")]


def _labelled(label: str, text: str, width: int) -> list[str]:
    rows = fold(middle_cut(text, LONGEST_TEXT), width - LABEL)
    named = phrased(label) if label else ""
    return [f"{named if not at else '':<{LABEL}}{row}" for at, row in enumerate(rows)]


def _choices(question: Question, width: int) -> list[str]:
    lines: list[str] = []
    for key in keys_for(question):
        rows = fold(phrased(key.words), width - 4)
        lines += [f"  {key.key} {row}" if not at else f"    {row}" for at, row in enumerate(rows)]
    if width < 70:
        return lines
    half = (len(lines) + 1) // 2
    left, right = lines[:half], [*lines[half:], ""][:half]
    return [f"{one:<32}{other}".rstrip() for one, other in zip(left, right, strict=True)]


HELP = (
    "a   run it now, this once",
    "d   do not run it; so do Ctrl-C, Ctrl-D and waiting",
    "p   run it where its changes are held back, and look at them first",
    "m   change the command; what you write is judged anew",
    "s   the same words run without a question until this session ends",
    "e   the same words always run without a question, in this place and under these rights",
    "x   commands that begin so always run, if nothing new is found in them",
    "    redoma approvals lists what you approved for longer, and takes it back",
)
