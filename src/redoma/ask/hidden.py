"""A command without its secrets, and where its risky parts stand in what is left."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.script import Span

_TAKEN_OUT = re.compile(r"\[REDACTED[^\]\n]{0,40}\]")
FAILED = "[REDACTED: could not be read]"


def without_secrets(
    text: str, spans: tuple[Span, ...], redact: Callable[[str], str]
) -> tuple[str, tuple[Span, ...]]:
    """The redacted text and the spans in it; where they cannot be told, all of it is marked."""
    shown = safely(redact, text)
    if shown == text:
        return text, spans
    moved = _moves(text, shown)
    if moved is None:
        return shown, ((0, len(shown)),)
    return shown, tuple((_to(moved, start, 0), _to(moved, end, 1)) for start, end in spans)


def safely(redact: Callable[[str], str], text: str) -> str:
    """The text as the redactor gives it; nothing of it where the redactor fails."""
    try:
        return redact(text)
    except Exception:
        return FAILED


def _moves(text: str, shown: str) -> list[tuple[Span, Span]] | None:
    """Which stretch of the text became which stretch of what is shown, one after the other."""
    moves: list[tuple[Span, Span]] = []
    at_text = at_shown = 0
    for cut in [*_TAKEN_OUT.finditer(shown), None]:
        end = cut.start() if cut else len(shown)
        piece = shown[at_shown:end]
        found = text.find(piece, at_text) if cut or not moves else len(text) - len(piece)
        if found < at_text or text[found : found + len(piece)] != piece:
            return None
        if moves:
            # What was taken out lies between the piece before it and this one.
            moves.append(((at_text, found), (moves[-1][1][1], at_shown)))
        elif found:
            return None
        moves.append(((found, found + len(piece)), (at_shown, end)))
        at_text = found + len(piece)
        at_shown = cut.end() if cut else end
    return moves if at_text == len(text) else None


def _to(moves: list[tuple[Span, Span]], at: int, side: int) -> int:
    """The place of `at` in what is shown; inside a secret, the secret's own end on that side."""
    for index, ((start, end), (shown_start, shown_end)) in enumerate(moves):
        if start <= at <= end and (index % 2 == 0 or start < at < end):
            return (shown_start, shown_end)[side] if index % 2 else shown_start + at - start
    return moves[-1][1][1]
