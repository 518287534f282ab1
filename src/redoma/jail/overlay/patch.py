"""Changes as a patch that `git apply` accepts: byte for byte, or said to be left out.

Git knows files, links and one bit of their mode. Owners, times, extended attributes, empty
directories and special files have no place in a patch: they are named instead.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from base64 import b85encode

from redoma.jail.overlay.diff import encoding_of, hunks, split
from redoma.model.change import Change, Did, FileKind, FileState
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from redoma.jail.overlay.sides import Sides

LARGEST_FILE = 256 << 20
_NULL = b"0" * 40
_PER_LINE = 52  # bytes of a binary patch's line, as git writes them
_LETTERS = 26  # lines up to this long are counted by A-Z, longer ones by a-z
_WIDE = ("utf-16", "utf-32")
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


class PatchPiece(Value):
    """One file's part of a patch; empty where it has none, and then `left_out` says why."""

    path: str
    patch: bytes = b""
    left_out: str = ""


def pieces(changes: Iterable[Change], sides: Sides) -> Iterator[PatchPiece]:
    """The patch, file by file."""
    listed = list(changes)
    known = {change.path for change in listed}
    for change in listed:
        for one in _expanded(change, known, sides):
            yield _piece(one, sides)


def quoted(path: str, prefix: bytes = b"") -> bytes:
    """A name as git writes it in a patch: plain, or in double quotes with escapes."""
    raw = prefix + os.fsencode(path)
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in raw):
        return raw
    escaped = "".join(
        f"\\{_ESCAPES[byte]}"
        if byte in _ESCAPES
        else (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in raw
    )
    return b'"' + escaped.encode() + b'"'


def _expanded(change: Change, known: set[str], sides: Sides) -> Iterator[Change]:
    """A change of a whole directory as changes of its files: git has no directories."""
    state = change.before
    whole = change.did in (Did.RENAMED, Did.DELETED)
    if state is None or state.kind is not FileKind.DIRECTORY or not whole:
        yield change
        return
    source = change.renamed_from or change.path
    for name, found in sides.files_below(source):
        old, new = f"{source}/{name}", f"{change.path}/{name}"
        if change.did is Did.RENAMED:
            if new not in known and old not in known:
                state = _state_of(found, sides, old)
                yield Change(path=new, did=Did.RENAMED, renamed_from=old, before=state, after=state)
        elif old not in known:
            yield Change(path=old, did=Did.DELETED, before=_state_of(found, sides, old))


def _state_of(found: os.stat_result, sides: Sides, path: str) -> FileState:
    link = stat.S_ISLNK(found.st_mode)
    regular = stat.S_ISREG(found.st_mode)
    kind = FileKind.SYMLINK if link else FileKind.FILE if regular else FileKind.DEVICE
    return FileState(
        kind=kind,
        mode=stat.S_IMODE(found.st_mode),
        uid=found.st_uid,
        gid=found.st_gid,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        target=sides.target(path) if link else "",
    )


def _piece(change: Change, sides: Sides) -> PatchPiece:
    old_mode, new_mode = _mode(change.before), _mode(change.after)
    if not old_mode and not new_mode:
        return PatchPiece(path=change.path, left_out=_no_place(change))
    before = sides.before(change, LARGEST_FILE) if old_mode else None
    after = sides.after(change, LARGEST_FILE) if new_mode else None
    for side in (before, after):
        if side is not None and side.data is None:
            return PatchPiece(path=change.path, left_out=side.why)
    old = (before.data or b"") if before is not None else b""
    new = (after.data or b"") if after is not None else b""
    if old_mode and new_mode and old_mode[:3] != new_mode[:3]:
        # A file in the place of a link, or the reverse: git takes one away and makes the other.
        return PatchPiece(
            path=change.path,
            patch=_file(change, old_mode, b"", old, b"") + _file(change, b"", new_mode, b"", new),
        )
    patch = _file(change, old_mode, new_mode, old, new)
    return PatchPiece(path=change.path, patch=patch, left_out="" if patch else _no_place(change))


def _file(change: Change, old_mode: bytes, new_mode: bytes, old: bytes, new: bytes) -> bytes:
    """The lines for one file, or nothing where git would see no difference."""
    source = change.renamed_from or change.path
    head = [b"diff --git " + quoted(source, b"a/") + b" " + quoted(change.path, b"b/")]
    if not old_mode:
        head.append(b"new file mode " + new_mode)
    elif not new_mode:
        head.append(b"deleted file mode " + old_mode)
    elif old_mode != new_mode:
        head += [b"old mode " + old_mode, b"new mode " + new_mode]
    if source != change.path and old_mode and new_mode:
        if old == new:
            head.append(b"similarity index 100%")
        head += [b"rename from " + quoted(source), b"rename to " + quoted(change.path)]
    if old == new and old_mode and new_mode:
        return b"\n".join(head) + b"\n" if len(head) > 1 else b""
    index = (
        (_blob_name(old) if old_mode else _NULL) + b".." + (_blob_name(new) if new_mode else _NULL)
    )
    same = old_mode == new_mode
    head.append(b"index " + index + (b" " + new_mode if same else b""))
    text = _is_text(old) and _is_text(new)
    if not text:
        head += [b"GIT binary patch", _literal(new), _literal(old)]
        return b"\n".join(head) + b"\n"
    if old == new:  # an empty file comes or goes
        return b"\n".join(head) + b"\n"
    head.append(b"--- " + (_named(source, b"a/") if old_mode else b"/dev/null"))
    head.append(b"+++ " + (_named(change.path, b"b/") if new_mode else b"/dev/null"))
    return b"\n".join(head) + b"\n" + _hunks(old, new)


def _hunks(old: bytes, new: bytes) -> bytes:
    made = []
    for hunk in hunks(split(old), split(new)):
        made.append(hunk.header.encode() + b"\n")
        for sign, line in hunk.lines:
            made.append(sign.encode() + line)
            if not line.endswith(b"\n"):
                made.append(b"\n\\ No newline at end of file\n")
    return b"".join(made)


def _literal(data: bytes) -> bytes:
    """Content as git's binary patches carry it: deflated, in base 85, each line with its length."""
    packed = zlib.compress(data)
    lines = [b"literal %d" % len(data)]
    for at in range(0, len(packed), _PER_LINE):
        part = packed[at : at + _PER_LINE]
        length = len(part)
        letter = 64 + length if length <= _LETTERS else 70 + length
        lines.append(bytes([letter]) + b85encode(part, pad=True))
    return b"\n".join(lines) + b"\n"


def _named(path: str, prefix: bytes) -> bytes:
    name = quoted(path, prefix)
    # A name with a blank ends at a tab, else what follows the blank is read as a date.
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


def _blob_name(data: bytes) -> bytes:
    """Git's name for a content; the patch is checked against it before anything is written."""
    sha = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    sha.update(data)
    return sha.hexdigest().encode()


def _is_text(data: bytes) -> bool:
    return not data or encoding_of(data) not in ("", *_WIDE)


def _mode(state: FileState | None) -> bytes:
    if state is None:
        return b""
    if state.kind is FileKind.SYMLINK:
        return b"120000"
    if state.kind is FileKind.FILE:
        return b"100755" if state.mode & stat.S_IXUSR else b"100644"
    return b""


def _no_place(change: Change) -> str:
    state = change.after or change.before
    kind = state.kind if state is not None else FileKind.FILE
    if kind is FileKind.DIRECTORY:
        return "a directory by itself"
    if kind in (FileKind.FILE, FileKind.SYMLINK):
        return "only attributes changed"
    return f"a {kind.value}"
