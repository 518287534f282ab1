"""Says before an apply what an ordinary user may not do to files of other people.

A workspace of another owner is copied for a run, and in the copy everything is the user's own. So
what worked inside may be forbidden outside; none of it is begun then.
"""

from __future__ import annotations

import os
import stat

from redoma.jail.overlay.choosing import is_directory, was_directory
from redoma.jail.overlay.failure import at
from redoma.model.change import Did
from redoma.model.errors import ApplyConflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.jail.overlay.below import Beneath
    from redoma.model.change import Change

_MOST_TOLD = 20
_CLOSED = "lies in a directory of another user in which you may not write"
_STICKY = "belongs to another user, and in its directory only they may remove it"
_OWNER = "belongs to another user, and would become yours"
_ATTRIBUTES = "belongs to another user, who alone may change its attributes"
_MOVED = "belongs to another user, and could not be removed again from where it is kept"


def refuse_forbidden(name: str, items: Iterable[Change], ground: Beneath) -> None:
    """ApplyConflict with every path that this user could not change as the command did."""
    if os.geteuid() == 0:
        return
    check = _Check(ground)
    found: list[tuple[str, str]] = []
    for item in items:
        with at(item.path, "looked at"):
            why = check.why(item)
        if why:
            found.append((item.path, why))
    if found:
        lines = [f"{path} {why}" for path, why in found[:_MOST_TOLD]]
        if len(found) > _MOST_TOLD:
            lines.append(f"and {len(found) - _MOST_TOLD} more")
        raise ApplyConflict(
            "\n".join((*lines, "nothing was applied")),
            paths=[path for path, _ in found],
            hint=f"redoma apply {name} PATH… for the others, or run it as the workspace's owner",
        )


class _Check:
    """The workspace as it stands; what is said of a directory is remembered for its neighbours."""

    def __init__(self, ground: Beneath) -> None:
        self._ground = ground
        self._user = os.geteuid()
        self._last = ("", "")

    def why(self, item: Change) -> str:
        """Why a change may not be made, or nothing."""
        for path in (item.path, item.renamed_from):
            why = self._entry(path) if path and path != "." else ""
            if why:
                return why
        before = item.before
        if before is None or before.uid == self._user:
            return ""
        if is_directory(item) and was_directory(item) and item.did is not Did.RENAMED:
            return _ATTRIBUTES if self._not_ours(item.path) else ""
        if was_directory(item):
            return self._whole(item.renamed_from or item.path)
        return "" if item.did is Did.DELETED else _OWNER

    def _not_ours(self, path: str) -> bool:
        status = self._ground.status(path)
        return status is not None and status.st_uid != self._user

    def _entry(self, path: str) -> str:
        """Whether an entry of a directory may be made, replaced or removed."""
        parent = path.rpartition("/")[0]
        if parent != self._last[0] or not parent:
            self._last = (parent, self._directory(parent or "."))
        why = self._last[1]
        return why if why != _STICKY or self._not_ours(path) else ""

    def _directory(self, path: str) -> str:
        status = self._ground.status(path)
        if status is None or not stat.S_ISDIR(status.st_mode) or status.st_uid == self._user:
            return ""  # it comes with this apply; or it is ours, and opened where it is closed
        with self._ground.opened(path, os.O_PATH | os.O_DIRECTORY) as fd:
            if not os.access(f"/proc/self/fd/{fd}", os.W_OK | os.X_OK):
                return _CLOSED
        return _STICKY if status.st_mode & stat.S_ISVTX else ""

    def _whole(self, path: str) -> str:
        """Whether a directory of another user can go with everything that is in it."""
        if not self._not_ours(path):
            return ""
        if self._directory(path):
            return _MOVED
        for inner, status in self._ground.below(path):
            if stat.S_ISDIR(status.st_mode) and self._directory(inner):
                return _MOVED
        return ""
