"""What a command changed in its workspace, path by path; how that is shown, and what became of it.

`Changes` has one `Change` for each path; `FileDiff` shows the lines of one; a transaction's
`Standing` says whether its changes are held, applied, undone or let go.
"""

from __future__ import annotations

from enum import Enum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.model.result import Quarantined


class FileKind(Enum):
    """What a path is."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    DEVICE = "device"


class Did(Enum):
    """What happened to a path; what happened to its content counts before its attributes."""

    CREATED = "created"
    MODIFIED = "modified"  # content, link target or kind
    DELETED = "deleted"
    RENAMED = "renamed"
    ATTRIBUTES = "attributes"  # mode, owner, times or extended attributes only


class FileState(Value):
    """A path as it stood; enough to see later whether it still stands so."""

    kind: FileKind
    mode: int  # permission bits only
    uid: int
    gid: int
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    device: int = 0
    links: int = 1
    target: str = ""  # of a symbolic link
    xattrs: tuple[tuple[str, bytes], ...] = ()


class Change(Value):
    """One path: what it was, what it is. Paths are relative to the workspace, as the file system
    has them (undecodable bytes as surrogates)."""

    __module__ = "redoma"

    path: str
    did: Did
    before: FileState | None = None
    after: FileState | None = None
    renamed_from: str = ""
    # How many paths below a renamed directory moved with it, unchanged; they are no items.
    moved_along: int = 0
    # Another name of the same file: one that was there before and is no item, or else the first
    # of the names among the items.
    hard_link_of: str = ""
    # A directory that stands in place of another: nothing below the old one is kept.
    replaces_tree: bool = False


class Changes(Value):
    """Everything one run changed; held in an overlay until applied or discarded.

    The items are in the order of the tree: a directory, then what is in it. They are a tuple, or
    where there are many a sequence that reads them from disk as they are asked for.
    """

    __module__ = "redoma"

    id: str
    workspace: str
    items: Sequence[Change] = ()
    # When the overlay was made, by its file system's clock: a path that changed later than this in
    # the workspace itself was changed by someone else.
    began_ns: int = 0
    # What could not be held or seen, in words; never empty silence.
    warnings: tuple[str, ...] = ()
    # The limit past which the overlay was not read any further: there are changes, and no items.
    unread: str = ""

    @property
    def held(self) -> bool:
        """Whether there is anything to apply or to discard."""
        return bool(self.items) or bool(self.unread)

    def paths(self, did: Did) -> tuple[str, ...]:
        """The paths to which this happened."""
        return tuple(item.path for item in self.items if item.did is did)


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


class Standing(Enum):
    """Where a transaction stands."""

    HELD = "held"  # in its overlay, nothing applied
    APPLIED = "applied"
    UNDONE = "undone"  # applied and taken back; can be applied again
    DISCARDED = "discarded"
    EXPIRED = "expired"  # what could be undone was let go to make room
    INTERRUPTED = "interrupted"  # ended half-way, and could not be brought to either end
    FINAL = "final"  # applied with nothing kept: it cannot be undone
    IN_PROGRESS = "in-progress"  # a living process is applying or undoing it at this moment

    @property
    def holds(self) -> bool:
        """Whether something is still kept of it, to be applied or undone."""
        return self not in (Standing.DISCARDED, Standing.EXPIRED, Standing.FINAL)


class HistoryEntry(Value):
    """One transaction, as a list of them shows it."""

    id: str
    when: float  # seconds since 1970
    command: str
    workspace: str
    standing: Standing
    created: int = 0
    modified: int = 0
    deleted: int = 0
    renamed: int = 0
    attributes: int = 0
    size: int = 0  # bytes it keeps on disk
    why: str = ""  # of a standing that nobody asked for
    # Why a person has to agree before it is applied; empty where nobody has to.
    asks: tuple[str, ...] = ()


class Applied(Value):
    """What an apply did."""

    __module__ = "redoma"

    id: str
    changes: Sequence[Change] = ()
    # Paths that nobody chose but that a chosen one cannot be without.
    brought: tuple[str, ...] = ()
    held_back: tuple[Quarantined, ...] = ()
    notes: tuple[str, ...] = ()
    undoable: bool = True
    kept: int = 0  # bytes of what it replaced, kept for an undo


class Undone(Value):
    """What an undo took back."""

    __module__ = "redoma"

    id: str
    paths: Sequence[str] = ()
    notes: tuple[str, ...] = ()


class Freed(Value):
    """What was let go to make room."""

    ids: tuple[str, ...] = ()
    size: int = 0
