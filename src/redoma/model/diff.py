"""What changed inside a file: hunks of lines, or why there are none to show."""

from __future__ import annotations

from enum import Enum

from redoma.model.change import Change
from redoma.model.value import Value

CONTEXT = 3


class Shows(Enum):
    """How the content of a changed path can be shown."""

    TEXT = "text"
    BINARY = "binary"
    LARGE = "large"  # too much to compare, or enough was shown already
    UNREADABLE = "unreadable"
    NOTHING = "nothing"  # no content changed, or none of the kind that has lines


class Hunk(Value):
    """A stretch of lines that differ, with the equal lines around them.

    Lines are bytes as in the file, newline included; UTF-16 and UTF-32 are carried as UTF-8.
    The sign is " ", "-" or "+". Line numbers count from one, as in a patch.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[tuple[str, bytes], ...]

    @property
    def header(self) -> str:
        """The line that starts a hunk in a patch."""
        return (
            f"@@ -{_range(self.old_start, self.old_count)} "
            f"+{_range(self.new_start, self.new_count)} @@"
        )


class FileDiff(Value):
    """One change with what can be shown of its content."""

    change: Change
    shows: Shows
    hunks: tuple[Hunk, ...] = ()
    encoding: str = ""
    why: str = ""
    added: int = 0
    removed: int = 0
    # The file in the workspace is no longer the one that the command saw.
    stale: bool = False


def _range(start: int, count: int) -> str:
    if count == 1:
        return str(start)
    return f"{start if count else max(start - 1, 0)},{count}"
