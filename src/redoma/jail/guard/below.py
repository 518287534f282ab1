"""Opens things below a directory without ever following a link on the way."""

from __future__ import annotations

import os
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def open_below(root: str, path: str) -> int:
    """A descriptor (O_PATH) of `path`, which must be `root` or lie below it.

    Attack: a directory on the way becomes a link to somewhere else between our look and our
    mount; then we would mount, move or rewrite a file of the person's.
    """
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
    for part in path.removeprefix(root).split("/"):
        if part:
            try:
                lower = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=fd)
            finally:
                os.close(fd)
            fd = lower
    return fd


@contextmanager
def opened_below(root: str, path: str) -> Iterator[int]:
    """The same for as long as a block lasts."""
    fd = open_below(root, path)
    try:
        yield fd
    finally:
        os.close(fd)
