"""What the machine would not do, and to which path: no failure of a layer is told without it."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WHY = {
    errno.EXDEV: "it lies on another file system, which is mounted inside the workspace",
    errno.ELOOP: "a link stands in its place",
}


class Failure(OSError):
    """One call that failed: the path below the workspace, and what was to be done with it."""

    def __init__(self, error: OSError, path: str, what: str) -> None:
        super().__init__(error.errno, error.strerror or str(error), path)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        return f"{self.path or '.'} cannot be {self.what}: {reason(self)}"


@contextmanager
def at(path: str, what: str) -> Iterator[None]:
    """An error of the machine in this block is about `path`, which cannot be `what` ("moved")."""
    try:
        yield
    except Failure:
        raise
    except OSError as error:
        raise Failure(error, path, what) from error


def told(error: OSError) -> str:
    """An error as it follows a colon: with its path, where that is known."""
    if isinstance(error, Failure):
        return str(error)
    return f"{reason(error)} ({os.fsdecode(error.filename)})" if error.filename else reason(error)


def reason(error: OSError) -> str:
    """What the kernel meant, without the path."""
    return _WHY.get(error.errno or 0) or error.strerror or str(error.args)
