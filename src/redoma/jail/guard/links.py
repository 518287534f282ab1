"""Whether a path is led elsewhere by a link that a command may have made."""

from __future__ import annotations

import os

_MOST_LINKS = 40


def led_out(path: str, written: tuple[str, ...]) -> bool:
    """Whether a link that a command may have made leads out of what it may write.

    Attack: `src` of the project is searched for modules; a command makes it a link to where keys
    lie, and the next call is shown them.
    """
    inside = tuple(f"{place.rstrip('/')}/" for place in written)
    if f"{os.path.realpath(path)}/".startswith(inside):
        return False
    at, links = "/", 0
    left = path.split("/")[::-1]
    while left:
        name = left.pop()
        if name in ("", ".", ".."):
            at = os.path.dirname(at) if name == ".." else at
            continue
        at = os.path.join(at, name)
        try:
            target = os.readlink(at)
        except OSError:
            continue
        links += 1
        if at.startswith(inside) or links > _MOST_LINKS:
            return True
        at = "/" if target.startswith("/") else os.path.dirname(at)
        left += target.split("/")[::-1]
    return False
