"""Finds everything protected in a workspace, and again what has changed since.

Only directories are remembered. A directory whose change time is older than the last look and
whose identity is the same has the same entries, so a second look costs one `stat` a directory.

What in a workspace a person's own tools obey without asking, as `obeyed.yaml` lists it.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager, suppress
from enum import Enum

from redoma.jail.protect import installation
from redoma.jail.protect.untrusted_paths import opened_below
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


# Inside a repository's own directory: what git runs or reads its orders from.
GIT_PARTS = ("hooks", "config", "config.worktree", "commondir", "gitdir")
# Never entered in git's own directory: its stores, where nothing is obeyed by name.
GIT_STORES = frozenset({"objects", "refs", "logs", "lfs", "info", "rr-cache"})
# How file systems without long names, and those that pass over some letters, write `.git`.
_GIT = frozenset({".git", "git~1"})
# Code points that HFS+ passes over in a name.
_PASSED_OVER = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


class Treat(Enum):
    """What becomes of a file that a command made in such a place."""

    NEVER = "never"
    ASK = "ask"


class ObeyedRow(Value):
    """One tool: what it obeys, and what that would do."""

    tool: str
    treat: Treat
    names: tuple[str, ...]
    why: str
    source: str = ""


class ObeyedNames:
    """Names to be looked for; each is looked up as a file system finds it."""

    def __init__(self, rows: Iterable[ObeyedRow]) -> None:
        self.rows = tuple(rows)
        self._files: dict[str, ObeyedRow] = {}
        self._ends: dict[str, ObeyedRow] = {}
        self._directories: dict[str, ObeyedRow] = {}
        # Names that count in a certain directory: the last one, then the whole of it.
        self._files_in: dict[str, dict[str, ObeyedRow]] = {}
        self._directories_in: dict[str, dict[str, ObeyedRow]] = {}
        for row in self.rows:
            for name in row.names:
                self._add(folded(name.rstrip("/")), row, directory=name.endswith("/"))
        inside = {f"/{name}/": row for name, row in self._directories.items()}
        for each in self._directories_in.values():
            inside |= {f"{end}/": row for end, row in each.items()}
        self._inside = tuple(inside.items())

    def _add(self, name: str, row: ObeyedRow, *, directory: bool) -> None:
        last = name.rpartition("/")[2]
        if last != name:
            within = self._directories_in if directory else self._files_in
            within.setdefault(last, {}).setdefault(f"/{name}", row)
        elif directory:
            self._directories.setdefault(name, row)
        elif name.startswith("*."):
            self._ends.setdefault(name.rpartition(".")[2], row)
        else:
            self._files.setdefault(name, row)

    def of_directory(self, name: str, above: str) -> ObeyedRow | None:
        """Who obeys all that is in a directory of this name, which lies in `above`; both folded."""
        found = self._directories.get(name)
        if found is None and name in self._directories_in:
            found = _ending(f"{above}/{name}", self._directories_in[name])
        return found

    def of_file(self, name: str, above: str) -> ObeyedRow | None:
        """Who obeys a file of this name, also where it stands in the place of a directory."""
        found = self._files.get(name) or self.of_directory(name, above)
        if found is None and name in self._files_in:
            found = _ending(f"{above}/{name}", self._files_in[name])
        if found is None and "." in name[1:]:
            found = self._ends.get(name.rpartition(".")[2])
        return found

    def of_path(self, path: str, *, directory: bool) -> ObeyedRow | None:
        """Who obeys what lies at a path, by its own name or by that of a directory on the way."""
        text = f"/{folded(path)}/"
        for inside, row in self._inside:
            if inside in text:
                return row
        above, _, last = text[:-1].rpartition("/")
        return None if directory else self.of_file(last, above)

    def with_more(self, names: tuple[str, ...]) -> ObeyedNames:
        """The same, and names that a policy adds."""
        if not names:
            return self
        added = ObeyedRow(
            tool="policy", treat=Treat.NEVER, names=names, why="your policy protects it"
        )
        return ObeyedNames((added, *self.rows))


def _ending(path: str, ends: dict[str, ObeyedRow]) -> ObeyedRow | None:
    return next((row for end, row in ends.items() if path.endswith(end)), None)


def folded(text: str) -> str:
    """A name or path as file systems find it that know no difference of letters, forms and dots."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFKC", text.translate(_PASSED_OVER)).casefold()
    text = text.lower()
    if "./" in text or " /" in text or text[-1:] in (".", " "):
        return "/".join(part.rstrip(" .") or part for part in text.split("/"))
    return text


def read(text: str) -> list[ObeyedRow]:
    """The rows of a list; a small part of YAML, since what reads all of it costs every run."""
    rows: list[dict[str, str]] = []
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            continue
        if line.startswith("- "):
            rows.append({})
        key, colon, value = line[2:].partition(": ")
        if not rows or not colon or line[:2] not in ("- ", "  "):
            raise ValueError(Message("no row of a list: {line}", line=line))
        rows[-1][key] = value.strip().strip('"')
    return [
        ObeyedRow(
            tool=row["tool"],
            treat=Treat(row["treat"]),
            names=tuple(row["names"].split()),
            why=row["why"],
            source=row["source"],
        )
        for row in rows
    ]


_known: list[ObeyedNames] = []


def obeyed() -> ObeyedNames:
    """Every name that is known, read once."""
    if not _known:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "obeyed.yaml")
        with open(path, encoding="utf-8") as file:
            _known.append(ObeyedNames(read(file.read())))
    return _known[0]


def is_git(name: str) -> bool:
    """Whether git takes a directory or file of this name for its own, whatever is in it yet."""
    return name == ".git" or folded(name) in _GIT


def is_git_directory(names: set[str] | frozenset[str]) -> bool:
    """Whether a directory with these entries is one that git takes for a repository.

    Attack: a repository needs no `.git` in its path; whoever stands in any directory with these
    three entries obeys the configuration beside them.
    """
    return "HEAD" in names and (("objects" in names and "refs" in names) or "commondir" in names)


def is_gits_own(path: str) -> bool:
    """Whether a directory is one that git itself keeps, by where it lies.

    Attack: a directory that only looks like a repository would hide what lies in its `logs`.
    """
    return path.endswith("/.git") or "/.git/modules/" in path or "/.git/worktrees/" in path


# Change times come from a clock that ticks every few milliseconds.
_CLOCK_SLACK = 50_000_000


class SurveyedDirectory:
    """One directory as it was last read."""

    __slots__ = (
        "changed",
        "children",
        "endpoints",
        "git",
        "inode",
        "protected",
        "stores",
        "unlisted",
    )

    def __init__(self, inode: int, changed: int) -> None:
        self.inode = inode
        self.changed = changed
        self.children: tuple[str, ...] = ()
        # (name, inode): what a person's tools obey.
        self.protected: tuple[tuple[str, int], ...] = ()
        # Sockets and named pipes: another program may listen at the other end.
        self.endpoints: tuple[str, ...] = ()
        # Directories of git itself, in which nothing that is obeyed can lie.
        self.stores: tuple[str, ...] = ()
        # Whether names in it can be used and not listed.
        self.unlisted = False
        self.git = False


class Survey:
    """What is protected below one directory."""

    def __init__(
        self,
        root: str,
        ours: Mapping[int, frozenset[int]] | None = None,
        more: tuple[str, ...] = (),
    ) -> None:
        """`ours` are the numbers of our own files, by device: other names of them count too.

        `more` are names that a policy protects beside those that are known.
        """
        self.root = root
        self.ours = ours or {}
        self.names = obeyed().with_more(more)
        self.looked = 0
        self.seen: dict[str, SurveyedDirectory] = {}
        self._stores: dict[str, Survey] = {}

    def look(self) -> None:
        """Reads what is new or has changed since the last look."""
        before, self.seen = self.seen, {}
        looked, self.looked = self.looked, time.time_ns()
        pending = [self.root]
        while pending:
            path = pending.pop()
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if not stat.S_ISDIR(status.st_mode):
                continue
            known = before.get(path)
            if (
                known is not None
                and known.inode == status.st_ino
                and known.changed == status.st_ctime_ns
                and known.changed < looked - _CLOCK_SLACK
            ):
                seen = known
            else:
                ours = self.ours.get(status.st_dev, frozenset())
                seen = _read(self.root, path, status, ours, self.names)
            self.seen[path] = seen
            pending += [f"{path}/{name}" for name in seen.children]

    def protected(self) -> Iterator[tuple[str, int]]:
        """Paths that nobody but a person may change, with their inodes."""
        for path, seen in self.seen.items():
            for name, inode in seen.protected:
                yield f"{path}/{name}", inode

    def git_directories(self) -> dict[str, int]:
        """Every directory that git would take for a repository, with its inode."""
        return {path: seen.inode for path, seen in self.seen.items() if seen.git}

    def endpoints(self) -> Iterator[str]:
        """Sockets and named pipes of other programs that a command could reach by path.

        Where names can be used and not listed, it is the whole directory.
        """
        for path, seen in self.seen.items():
            for name in seen.endpoints:
                yield f"{path}/{name}"
            if seen.unlisted:
                yield path
            for name in seen.stores:
                store = self._stores.setdefault(f"{path}/{name}", Survey(f"{path}/{name}"))
                store.look()
                yield from store.endpoints()


def _read(
    root: str,
    path: str,
    status: os.stat_result,
    ours: frozenset[int],
    known: ObeyedNames,
) -> SurveyedDirectory:
    seen = SurveyedDirectory(status.st_ino, status.st_ctime_ns)
    children: list[str] = []
    protected: list[tuple[str, int]] = []
    endpoints: list[str] = []
    all_names: set[str] = set()
    links = installation.LINKS.get(path, frozenset())
    here = folded(path)
    seen.unlisted = True
    with suppress(OSError), _readable(root, path, status) as place, os.scandir(place) as entries:
        seen.unlisted = False
        for entry in entries:
            name = entry.name
            all_names.add(name)
            if entry.is_dir(follow_symlinks=False):
                children.append(name)
                if known.of_directory(folded(name), here) is not None:
                    protected.append((name, entry.inode()))
                continue
            if (
                name in links
                or is_git(name)
                or known.of_file(folded(name), here) is not None
                or (ours and entry.inode() in ours)
            ):
                protected.append((name, entry.inode()))
            if not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
                    endpoints.append(name)
    # Attack: in a directory of another owner's that we may enter and not list, a pipe is reached by
    # whoever knows its name.
    seen.unlisted = seen.unlisted and os.access(path, os.X_OK)
    # Attack: what is planted where `git init` will make a repository only later.
    seen.git = is_git_directory(all_names) or is_git(path.rpartition("/")[2])
    for name in all_names if seen.git else ():
        if folded(name) in GIT_PARTS:
            with suppress(OSError):
                protected.append((name, os.lstat(f"{path}/{name}").st_ino))
    if seen.git and is_gits_own(path):
        seen.stores = tuple(name for name in children if name in GIT_STORES)
        children = [name for name in children if name not in GIT_STORES]
    seen.children = tuple(children)
    seen.protected = tuple(protected)
    seen.endpoints = tuple(endpoints)
    return seen


@contextmanager
def _readable(root: str, path: str, status: os.stat_result) -> Iterator[str]:
    """A directory that can be listed, its mode as it was when the block ends.

    Attack: without its owner's right to list it, a directory still lets a person's git in who
    knows the name, but hides from us what was planted there.
    """
    if os.access(path, os.R_OK | os.X_OK) or status.st_uid != os.geteuid():
        yield path
        return
    with opened_below(root, path) as place:
        # Attack: a run beside this one swaps a directory for another since it was looked at.
        found = os.fstat(place)
        mode = stat.S_IMODE(found.st_mode)
        if not os.path.samestat(found, status) or not stat.S_ISDIR(found.st_mode):
            raise OSError(Message("{path} is not what it was", path=path))
        here = f"/proc/self/fd/{place}"
        os.chmod(here, mode | 0o500)
        try:
            yield here
        finally:
            os.chmod(here, mode)
