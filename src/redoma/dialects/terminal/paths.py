"""Which paths a terminal command may work on, and what its enclosure has to show for that."""

from __future__ import annotations

import os
from dataclasses import dataclass

from redoma import Effect, Fact, check

TEMPORARY = "/tmp"
_CHANGES = frozenset((Effect.WRITES, Effect.DELETES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a command names outside of its working directory."""

    temporary: bool = False
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    # The first path that it would change and may not.
    outside: str = ""


def allowed(path: str | os.PathLike[str], *, start: str = "") -> bool:
    """Whether a path is home, /tmp or below, links followed, and keeps no credential."""
    real = resolved(path, start=start)
    if not real or not any(within(real, root) for root in roots()):
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


def within(path: str, root: str) -> bool:
    """Whether a path is a directory or lies below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def reach(facts: tuple[Fact, ...], workspace: str) -> Reach:
    """What a command has to be shown so that the paths it names are the real ones."""
    reads: list[str] = []
    writes: list[str] = []
    outside = ""
    temporary = False
    for path, changed in _named(facts, workspace):
        if within(path, TEMPORARY):
            temporary = True
        elif not changed:
            reads += [path] if _shown(path) else []
        elif _shown(holder := _holder(path)):
            writes.append(holder)
        else:
            outside = outside or path
    return Reach(
        temporary=temporary,
        reads=tuple(dict.fromkeys(reads)),
        writes=tuple(dict.fromkeys(writes)),
        outside=outside,
    )


def _named(facts: tuple[Fact, ...], workspace: str) -> list[tuple[str, bool]]:
    """Every path outside of the workspace that a command names, and whether it changes it."""
    found: list[tuple[str, bool]] = []
    for fact in facts:
        if fact.effect is Effect.CALLS:
            found += [(word, False) for word in fact.detail.split("\x1f")[1:]]
            continue
        for target in fact.targets:
            # What has no path of its own is told as it is written, by programs that make files.
            path = target.real or target.path or (target.text if fact.effect in _CHANGES else "")
            found.append((path, fact.effect in _CHANGES))
    return [
        (os.path.normpath(path), changed)
        for path, changed in found
        if path.startswith("/") and not within(os.path.normpath(path), workspace)
    ]


def _holder(path: str) -> str:
    """The directory that a change of this path is a change of."""
    known = next((at for at, char in enumerate(path) if char in "*?["), len(path))
    return resolved(os.path.dirname(path[:known]))


def _shown(path: str) -> bool:
    """Whether something that is there may be opened to a command because it names it.

    Attack: hidden directories of a home keep tokens under names that nobody lists.
    """
    home = resolved("~")
    if not path or path in roots() or not os.path.exists(path) or not allowed(path):
        return False
    return not within(path, home) or not os.path.relpath(path, home).startswith(".")


def _quoted(text: str) -> str:
    from shlex import quote

    return quote(text)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/nonexistent"
