"""The disk cache: what was worked out once, under a stamp of what it was worked out from.

Nothing here is needed: a file that is missing, damaged, of another stamp or not ours alone means
that the work is done again, and a place that cannot be written only costs time at the next start.
"""

from __future__ import annotations

import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def opened(path: str) -> int | None:
    """A descriptor of a cache file; None where there is none that can be believed.

    Attack: in a shared directory another user could leave what we would believe, or a link.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022:
            return fd
    except OSError:
        pass
    os.close(fd)
    return None


def read(path: str, stamp: object) -> Any:
    """What was kept at `path` under this very stamp; None where nothing was."""
    fd = opened(path)
    if fd is None:
        return None
    try:
        with open(fd, "rb") as file:
            found = marshal.loads(file.read())  # noqa: S302
    except (OSError, ValueError, EOFError, TypeError):
        return None
    sound = isinstance(found, tuple) and len(found) == 2
    return found[1] if sound and found[0] == stamp else None


def keep(path: str, stamp: Any, value: Any, *, mode: int = 0o600) -> bool:
    """Keeps a value of numbers, texts, lists and tuples; False where the place cannot be had."""
    return keep_bytes(path, marshal.dumps((stamp, value)), mode=mode)


def keep_bytes(path: str, content: bytes, *, mode: int = 0o600) -> bool:
    """Keeps bytes that their reader checks by himself."""
    from redoma.base import private_file  # most starts only read

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        private_file.write(path, content, mode=mode)
    except OSError:
        return False
    return True
