"""Two trees on disk, and the changes between them as an overlay would tell them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from redoma.jail.overlay.sides import Sides
from redoma.model.change import Change, Did, FileKind, FileState

# A file is its content; a link is ("link", target); an executable is ("run", content).
Tree = dict[str, bytes | tuple[str, bytes]]


def grown(root: Path, tree: Tree) -> Path:
    """A directory with these files in it."""
    root.mkdir(parents=True, exist_ok=True)
    for name, what in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(what, bytes):
            path.write_bytes(what)
        elif what[0] == "link":
            path.symlink_to(os.fsdecode(what[1]))
        else:
            path.write_bytes(what[1])
            path.chmod(0o755)
    return root


def read_back(root: Path) -> Tree:
    """What stands in a directory, git's own files left out."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(".git/"):
            continue
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            data = path.read_bytes()
            found[name] = ("run", data) if path.stat().st_mode & 0o100 else data
    return found


def state(path: Path) -> FileState | None:
    """A path as it stands."""
    if not os.path.lexists(path):
        return None
    found = path.lstat()
    kind = {
        stat.S_IFREG: FileKind.FILE,
        stat.S_IFLNK: FileKind.SYMLINK,
        stat.S_IFDIR: FileKind.DIRECTORY,
        stat.S_IFIFO: FileKind.FIFO,
    }[stat.S_IFMT(found.st_mode)]
    return FileState(
        kind=kind,
        mode=stat.S_IMODE(found.st_mode),
        uid=found.st_uid,
        gid=found.st_gid,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        target=os.readlink(path) if kind is FileKind.SYMLINK else "",
    )


class Pair:
    """A workspace, the overlay above it, and what a command did between them."""

    def __init__(self, root: Path, before: Tree, after: Tree) -> None:
        self.workspace = grown(root / "workspace", before)
        self.upper = grown(root / "upper", after)
        self.before, self.after = before, after
        self.sides = Sides(str(self.workspace), str(self.upper))

    def change(self, path: str, *, renamed_from: str = "") -> Change:
        """What happened to one path."""
        before = state(self.workspace / (renamed_from or path))
        after = state(self.upper / path)
        did = Did.RENAMED if renamed_from else Did.MODIFIED
        if before is None:
            did = Did.CREATED
        elif after is None:
            did = Did.DELETED
        return Change(path=path, did=did, before=before, after=after, renamed_from=renamed_from)

    def changes(self) -> list[Change]:
        """Everything that differs."""
        paths = sorted({*self.before, *self.after})
        return [self.change(p) for p in paths if self.before.get(p) != self.after.get(p)]
