"""What runs in a preview in place of a command, and what a preview learns without running."""

from __future__ import annotations

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.script import Span


class Edit(Value):
    """A stretch of the command's text and what stands there instead."""

    place: Span
    text: str
    # What the judge reads in its place, where the text holds a script of our own.
    judged: str = ""


class Instead(Value):
    """One command that a preview runs in another form."""

    edits: tuple[Edit, ...]
    # In words, as `npm publish --dry-run`.
    runs: str
    warnings: tuple[str, ...] = ()
    # What it would have called, where the form that runs does not tell.
    calls: tuple[str, ...] = ()
    # The form that runs says what would have been sent, on lines of its own.
    reports: bool = False


def edited(text: str, edits: list[Edit], *, for_judge: bool = False) -> str:
    """The text with every edit made: to be run, or to be judged."""
    for edit in sorted(edits, key=lambda e: e.place, reverse=True):
        start, end = edit.place
        put = edit.judged if for_judge and edit.judged else edit.text
        text = text[:start] + put + text[end:]
    return text
