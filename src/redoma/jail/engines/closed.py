"""Directories in a tree of root's that the command, which is not root, cannot enter."""

from __future__ import annotations

import os

_ACCESS_LIST = "system.posix_acl_access"


class Closed:
    """Tells what lies in somebody else's closed directory below `root`.

    Whoever mounts for root is nobody there, as the command is, so such a place can neither be
    reached nor covered. Only its owner could open it: a directory of the command's own, which it
    could open itself, never counts.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._owner = os.stat(root)
        self._known: dict[str, bool] = {}

    def holds(self, path: str) -> bool:
        above = os.path.dirname(path)
        if len(above) <= len(self._root):
            return False
        known = self._known.get(above)
        if known is None:
            known = self._known[above] = self.holds(above) or self._shut(above)
        return known

    def _shut(self, directory: str) -> bool:
        try:
            status = os.lstat(directory)
        except OSError:
            return False
        if status.st_uid == self._owner.st_uid or status.st_mode & 0o001:
            return False
        if status.st_mode & 0o010:
            return status.st_gid != self._owner.st_gid and not _has_access_list(directory)
        return True


def _has_access_list(directory: str) -> bool:
    try:
        return _ACCESS_LIST in os.listxattr(directory, follow_symlinks=False)
    except OSError:
        return False
