"""Which paths terminal commands may work on."""

from __future__ import annotations

import os

from redoma import check
from redoma.base.paths import is_within

TEMPORARY = "/tmp"


def allowed(path: str | os.PathLike[str], *, start: str = "") -> bool:
    """Whether a path is home, /tmp or below, links followed, and keeps no credential."""
    real = resolved(path, start=start)
    if not real or not any(is_within(real, root) for root in roots()):
        return False
    # Attack: keys and passwords lie below home, too.
    return check("cat -- " + _quoted(real), pack="terminal").level != "blocked"


def roots() -> tuple[str, ...]:
    """Home and /tmp as they really are; a home that is everything allows nothing."""
    found = [resolved("~"), resolved(TEMPORARY)]
    return tuple(root for root in found if root not in ("", "/"))


def resolved(path: str | os.PathLike[str], *, start: str = "") -> str:
    """The path without links and `..`; empty where that cannot be said."""
    text = os.path.expanduser(os.fsdecode(path))
    if not text or "\0" in text or text.startswith("~"):
        return ""
    text = os.path.join(start or _here(), text)
    try:
        return os.path.realpath(text, strict=True)
    except FileNotFoundError:
        return os.path.realpath(text)  # it may be made there
    except (OSError, ValueError):
        return ""  # a loop of links, a directory that cannot be entered: nobody knows


def _quoted(text: str) -> str:
    from shlex import quote

    return quote(text)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/nonexistent"
