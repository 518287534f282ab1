"""Reads the script files of a workspace for the judge: as data, bounded, and nothing else."""

from __future__ import annotations

import os
import stat

from redoma.base.paths import is_below

TEMPORARY = ("/tmp", "/var/tmp")
LONGEST = 65_536


class ScriptReader:
    """The files that may be read: those of the workspace, and temporary ones; each is read once.

    Attack: a link in the workspace that leads to a key, whose lines a reason would then show; a
    FIFO that nobody writes to; a device without end; a file that is swapped while it is opened.
    So the real path counts, the open waits for nothing, and what was opened is looked at again.
    """

    __slots__ = ("_held", "_roots")

    def __init__(self, workspace: str) -> None:
        self._roots = (workspace, *TEMPORARY)
        self._held: dict[str, str | None] = {}

    def read(self, path: str) -> str | None:
        """The text of an ordinary file; None for anything else, and for one that is too large."""
        if path not in self._held:
            self._held[path] = self._read(path)
        return self._held[path]

    def _read(self, path: str) -> str | None:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST:
                return None
            real = os.readlink(f"/proc/self/fd/{fd}")
            roots = [os.path.realpath(root) for root in self._roots]
            if not any(root != "/" and is_below(real, root) for root in roots):
                return None
            content = os.read(fd, LONGEST + 1)
            if len(content) > LONGEST or b"\0" in content:
                return None
            return content.decode()
        except (OSError, ValueError):
            return None
        finally:
            os.close(fd)
