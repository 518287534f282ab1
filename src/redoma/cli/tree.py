"""Changes as a person reads them: a tree with a sign for each path, large directories in a line."""

from __future__ import annotations

import re

from redoma.base.text import cell, harmless
from redoma.i18n import phrased
from redoma.model.change import Did, FileKind, Shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from redoma.cli.prose import Screen
    from redoma.model.change import Change, FileDiff, FileState, Hunk

SIGNS = {
    Did.CREATED: "+",
    Did.MODIFIED: "~",
    Did.DELETED: "-",
    Did.RENAMED: ">",
    Did.ATTRIBUTES: "*",
}
PAINT = {
    "+": "\x1b[32m",
    "~": "\x1b[33m",
    "-": "\x1b[31m",
    ">": "\x1b[36m",
    "*": "\x1b[35m",
}
PLAIN = "\x1b[0m"
FEW = 25  # a directory that came or went whole is one line from here on
MANY = 200  # and so is any directory with so many changes below it
WIDEST_NAME = 48
# What git keeps for itself: one line, and no differences. Its settings and hooks are another
# matter: they decide what runs.
_GITS_OWN = re.compile(
    r"(?:^|/)\.git/(?:(?:objects|logs|lfs)(?:/|$)|(?:index|ORIG_HEAD|COMMIT_EDITMSG|FETCH_HEAD)$)"
)


class Folder:
    """A directory on the way to changes: what happened to itself, to its files, and below it."""

    __slots__ = ("below", "files", "own")

    def __init__(self) -> None:
        self.own: Change | None = None
        self.below: dict[str, Folder] = {}
        self.files: dict[str, Change] = {}

    def all(self) -> list[Change]:
        """Every change to something below, the directory itself left out."""
        found: list[Change] = []
        todo: list[tuple[Folder, bool]] = [(self, True)]
        while todo:
            folder, top = todo.pop()
            if folder.own is not None and not top:
                found.append(folder.own)
            found += folder.files.values()
            todo += [(one, False) for one in folder.below.values()]
        return found


def is_gits_own(path: str) -> bool:
    """Whether a path is of no interest to anyone but git."""
    return _GITS_OWN.search(path) is not None


def tree(
    items: Iterable[Change], screen: Screen, diffs: Mapping[str, FileDiff] | None = None
) -> str:
    """The whole tree; with `diffs` the lines that came and went are counted beside each file."""
    rows = list(_rows(_grown(items), diffs or {}))
    width = min(max((_width(name) for _, name, _, _ in rows), default=0), WIDEST_NAME)
    lines = []
    for sign, name, about, _ in rows:
        gap = " " * (width - _width(name))
        line = f"{sign} {name}{gap}  {about}".rstrip()
        paint = PAINT.get(sign, "") if screen.colour else ""
        lines.append(f"{paint}{line}{PLAIN}\n" if paint else f"{line}\n")
    return "".join(lines)


def summed_up(items: Iterable[Change]) -> tuple[str, ...]:
    """The directories that the tree shows in one line, each with a slash at its end."""
    return tuple(path for _, _, _, path in _rows(_grown(items), {}) if path)


def summary(items: Iterable[Change]) -> str:
    """One line: how many of what."""
    listed = list(items)
    if not listed:
        return phrased("nothing changed")
    parts = []
    for did in Did:
        count = sum(item.did is did for item in listed)
        if count:
            what = "attributes only" if did is Did.ATTRIBUTES else did.value
            parts.append(f"{counted(count)} {phrased(what)}")
    return ", ".join(parts)


def size(number: int) -> str:
    """Bytes for people: `340 B`, `48 MB`."""
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def counted(number: int) -> str:
    """A number with blanks between its thousands."""
    return f"{number:,}".replace(",", " ")


def _grown(items: Iterable[Change]) -> Folder:
    top = Folder()
    for change in items:
        *way, name = change.path.split("/")
        folder = top
        for part in way:
            folder = folder.below.setdefault(part, Folder())
        if _is_directory(change):
            folder.below.setdefault(name, Folder()).own = change
        else:
            folder.files[name] = change
    return top


def _rows(top: Folder, diffs: Mapping[str, FileDiff]) -> Iterable[tuple[str, str, str, str]]:
    """(sign, indented name, what to say of it, path if it sums up), depth first and sorted."""
    todo = _entries(top, 0, "")
    while todo:
        depth, above, name, what = todo.pop()
        indent = "  " * depth
        if not isinstance(what, Folder):
            yield SIGNS[what.did], f"{indent}{harmless(name)}", _about(what, diffs), ""
            continue
        # A directory on the way to a single one or to a single file is not worth a line.
        while what.own is None and not what.files and len(what.below) == 1:
            ((below, folder),) = what.below.items()
            name, what = f"{name}/{below}", folder
        own, path = what.own, f"{above}{name}"
        if own is None and not what.below and len(what.files) == 1 and not is_gits_own(path):
            ((below, change),) = what.files.items()
            shown = f"{indent}{harmless(name)}/{harmless(below)}"
            yield SIGNS[change.did], shown, _about(change, diffs), ""
            continue
        shown = f"{indent}{harmless(name)}/"
        inside = what.all()
        if inside and (is_gits_own(path) or _collapsed(own, inside)):
            yield _sign(own, inside), shown, _gathered(inside), f"{path}/"
            continue
        yield SIGNS[own.did] if own else " ", shown, _about(own, diffs) if own else "", ""
        todo += _entries(what, depth + 1, f"{path}/")


def _entries(folder: Folder, depth: int, above: str) -> list[tuple[int, str, str, Folder | Change]]:
    """What stands in a directory, last first: the list is taken from its end."""
    named: list[tuple[str, Folder | Change]] = [*folder.files.items(), *folder.below.items()]
    named.sort(key=lambda entry: entry[0], reverse=True)
    return [(depth, above, name, what) for name, what in named]


def _collapsed(own: Change | None, inside: list[Change]) -> bool:
    if len(inside) >= MANY:
        return True
    whole = own is not None and own.did in (Did.CREATED, Did.DELETED)
    return whole and len(inside) >= FEW and all(change.did is own.did for change in inside if own)


def _sign(own: Change | None, inside: list[Change]) -> str:
    """The sign of a directory in one line: its own, what all in it share, or modified."""
    if own is not None:
        return SIGNS[own.did]
    kinds = {change.did for change in inside}
    return SIGNS[kinds.pop()] if len(kinds) == 1 else SIGNS[Did.MODIFIED]


def _gathered(inside: list[Change]) -> str:
    """What a directory in one line holds: `+3 214 files, 48 MB`."""
    files = [change for change in inside if not _is_directory(change)]
    counts = [
        f"{SIGNS[did]}{counted(number)}"
        for did in Did
        if (number := sum(change.did is did for change in files))
    ]
    held = sum(_size(change.after or change.before) for change in files)
    noun = phrased("file" if len(files) == 1 else "files")
    return f"{' '.join(counts) or '0'} {noun}, {size(held)}"


def _about(change: Change, diffs: Mapping[str, FileDiff]) -> str:
    said = []
    before, after = change.before, change.after
    if change.did is Did.RENAMED:
        said.append(phrased("from {0}", harmless(change.renamed_from)))
        if change.moved_along:
            said.append(phrased("{0} paths moved along", counted(change.moved_along)))
    state = after or before
    if state is not None and state.kind is FileKind.SYMLINK and after is not None:
        said.append(phrased("link to {0}", harmless(after.target)))
    elif state is not None and state.kind not in (FileKind.FILE, FileKind.DIRECTORY):
        said.append(phrased(state.kind.value))
    elif change.path in diffs and (diffs[change.path].added or diffs[change.path].removed):
        said.append(f"+{diffs[change.path].added} -{diffs[change.path].removed}")
    elif state is not None and state.kind is FileKind.FILE and change.did is not Did.ATTRIBUTES:
        said.append(_sizes(change))
    if change.hard_link_of:
        said.append(phrased("the same file as {0}", harmless(change.hard_link_of)))
    said += _attributes(change)
    if change.path in diffs and diffs[change.path].stale:
        said.append(phrased("changed in the workspace since"))
    return ", ".join(said)


def _sizes(change: Change) -> str:
    before, after = _size(change.before), _size(change.after)
    if change.before is not None and change.after is not None and before != after:
        return f"{size(before)} -> {size(after)}"
    return size(after if change.after is not None else before)


def _attributes(change: Change) -> list[str]:
    """What else than content differs, in words."""
    before, after = change.before, change.after
    if before is None or after is None:
        return []
    said = []
    if before.kind is not after.kind:
        said.append(f"{phrased(before.kind.value)} -> {phrased(after.kind.value)}")
    elif before.mode != after.mode:
        said.append(phrased("mode {0}", f"{before.mode:04o} -> {after.mode:04o}"))
    if (before.uid, before.gid) != (after.uid, after.gid):
        said.append(phrased("owner {0}", f"{before.uid}:{before.gid} -> {after.uid}:{after.gid}"))
    if before.xattrs != after.xattrs:
        old, new = dict(before.xattrs), dict(after.xattrs)
        names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        said.append(phrased("attribute {0}", ", ".join(map(harmless, names))))
    if not said and change.did is Did.ATTRIBUTES and before.mtime_ns != after.mtime_ns:
        said.append(phrased("time"))
    return said


def _is_directory(change: Change) -> bool:
    state = change.after or change.before
    return state is not None and state.kind is FileKind.DIRECTORY


def _size(state: FileState | None) -> int:
    return state.size if state is not None and state.kind is FileKind.FILE else 0


def _width(text: str) -> int:
    return sum(cell(char)[1] for char in text)


_BOLD = "\x1b[1m"
_PLACE = "\x1b[36m"
_SIGN_PAINT = {"-": "\x1b[31m", "+": "\x1b[32m", " ": ""}
LONGEST_LINE = 2000


def shown(diffs: Iterable[FileDiff], screen: Screen) -> Iterator[str]:
    """Each file's differences; files of which there is nothing to show are left to the tree."""
    for diff in diffs:
        if diff.shows is Shows.NOTHING and not diff.why:
            continue
        yield f"{painted(title(diff.change), _BOLD, screen)}\n"
        if diff.stale:
            yield phrased(
                "  (the workspace's file has changed since; this compares with it as it is now)\n"
            )
        if diff.shows is not Shows.TEXT or not diff.hunks:
            yield f"  {_instead(diff)}\n"
        for hunk in diff.hunks:
            yield from hunk_lines(hunk, diff.encoding, screen)


def title(change: Change) -> str:
    """What happened to which path, on one line."""
    from_where = (
        phrased(" (from {0})", harmless(change.renamed_from)) if change.renamed_from else ""
    )
    return f"{SIGNS[change.did]} {harmless(change.path)}{from_where}"


def hunk_lines(hunk: Hunk, encoding: str, screen: Screen) -> Iterator[str]:
    """A hunk as in a patch; nothing in the file's text acts on the terminal."""
    yield f"{painted(hunk.header, _PLACE, screen)}\n"
    for sign, line in hunk.lines:
        text, newline = line.removesuffix(b"\n"), line.endswith(b"\n")
        said = harmless(_decoded(text[:LONGEST_LINE], encoding))
        if len(text) > LONGEST_LINE:
            said += phrased("... ({0} bytes)", len(text))
        yield f"{painted(sign + said, _SIGN_PAINT[sign], screen)}\n"
        if not newline:
            yield "\\ No newline at end of file\n"


def painted(text: str, paint: str, screen: Screen) -> str:
    """Text in a colour, where the screen has colours."""
    return f"{paint}{text}{PLAIN}" if screen.colour and paint else text


def _instead(diff: FileDiff) -> str:
    """What to say of a file whose content cannot be shown."""
    before, after = diff.change.before, diff.change.after
    sizes = [size(s.size) for s in (before, after) if s is not None and s.kind is FileKind.FILE]
    noun = phrased("binary" if diff.shows is Shows.BINARY else diff.why or diff.shows.value)
    return f"{noun}: {' -> '.join(sizes)}" if sizes else noun


def _decoded(line: bytes, encoding: str) -> str:
    if encoding == "latin-1":
        return line.decode("latin-1")
    return line.decode("utf-8", "surrogateescape")
