"""What a command changed in its workspace: one value for each path, before and after."""

from __future__ import annotations

from enum import Enum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


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
