"""What somebody meant who wrote a word that has no meaning here."""

from __future__ import annotations

from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The likest of the known words, or nothing where none is like it."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1)
    return near[0] if near else ""


def did_you_mean(near: str, otherwise: str = "") -> str:
    """The hint at a word that was meant, or another hint where there is none."""
    return Message("did you mean {meant}?", meant=near) if near else otherwise
