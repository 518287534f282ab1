"""What in a workspace a person's own tools obey without asking, as `obeyed.yaml` lists it."""

from __future__ import annotations

import os
from enum import Enum

from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
