"""Tells which changes would touch what Redoma itself is made of, whatever a person allowed."""

from __future__ import annotations

from redoma.jail import installation
from redoma.jail.overlay.roots import Roots
from redoma.model.change import Change, FileKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Ours:
    """What is ours below one workspace, asked about one change at a time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._own = Roots(installation.folded(path) for path in installation.names_below(root))

    def has(self, path: str) -> bool:
        """Whether a path of the workspace is ours, or lies in what is."""
        return bool(self._own) and bool(self._own.over(installation.folded(f"{self._root}/{path}")))

    def _leads_to(self, path: str) -> bool:
        return self._own.below(installation.folded(f"{self._root}/{path}"))

    def touched_by(self, item: Change, below: Callable[[str], Iterable[str]]) -> bool:
        """Whether a change would touch what we run from, or what leads there by name.

        `below` gives the paths that moved along with a directory, which are no items.
        """
        if not self._own:
            return False
        old = [path for path in (item.renamed_from, item.hard_link_of) if path]
        if self.has(item.path) or any(self.has(path) or self._leads_to(path) for path in old):
            return True
        if item.moved_along and any(map(self.has, below(item.path))):
            return True
        if not self._leads_to(item.path):
            return False
        after = item.after
        if after is None or after.kind is not FileKind.DIRECTORY or item.replaces_tree:
            return True
        # Attack: a directory on the way that everybody may write from now on.
        return bool(after.mode & 0o022 & ~(item.before.mode if item.before else 0))
