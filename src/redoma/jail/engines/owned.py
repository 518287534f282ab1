"""Shows what Redoma itself is made of read-only, where it lies in a workspace with a layer.

In a layer nothing is obeyed, and nothing of ours is applied from one. But a command that installs
something there should fail at once, and not find later that it did nothing.
"""

from __future__ import annotations

import os

from redoma.jail import own
from redoma.jail.protect.untrusted_paths import open_below
from redoma.model.errors import EngineFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Owned:
    """Our own parts below one directory, for one run."""

    def __init__(self, root: str, *, as_nobody: bool) -> None:
        self.root = root
        parts = [path for path in own.parts_below(root) if not os.path.islink(path)]
        if parts and as_nobody:
            from redoma.jail.engines.closed import Closed

            closed = Closed(root)
            parts = [path for path in parts if not closed.holds(path)]
        self.read_only = parts

    @property
    def needs_mounts(self) -> bool:
        return bool(self.read_only)

    def covers(self) -> list[str]:
        """Nothing that another program listens at is among them."""
        return []

    def mounts(self, source: str) -> list[tuple[str, int, str]]:
        """(option, descriptor, place) for each mount; `source` is where the root is found."""
        return opened(source, self.root, (("--ro-bind-fd", path) for path in self.read_only))


def opened(source: str, root: str, wanted: Iterable[tuple[str, str]]) -> list[tuple[str, int, str]]:
    """Each option and path with a descriptor of what lies there; all of them, or an error."""
    made: list[tuple[str, int, str]] = []
    for option, path in wanted:
        try:
            fd = open_below(source, source + path.removeprefix(root))
        except OSError as error:
            for _, before, _ in made:
                os.close(before)
            # Attack: a run beside this one swaps a directory on the way for a link.
            raise EngineFailed(
                f"{path} changed while it was being protected: {error.strerror}",
                hint="try again",
            ) from error
        made.append((option, fd, path))
    return made
