"""What an item changed, packed up on its node, and done again elsewhere as if it had run there.

Only what changed travels: a patch for `git apply`, and a tar file with every changed file whole and
a list of what was there before. To have it in a directory of one's own, the list is carried out by
a program *inside a sandbox* there: what came from another machine is no more trusted than any
command, and what it writes is looked at, applied and undone by the same machinery.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from contextlib import suppress

from redoma.fleet.items import ReturnedChanges
from redoma.jail.overlay.patch import LARGEST_FILE
from redoma.model.change import FileKind
from redoma.model.errors import ApplyConflict, RedomaError
from redoma.model.message import Message
from redoma.pipeline.preview import patch, sides_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.sides import Sides
    from redoma.model.change import Change, Changes
    from redoma.model.result import Result
    from redoma.pipeline.sandbox import Sandbox

LIST, FILES = "changes.json", "files/"
MOST = 64 << 20
_MOST_ITEMS = 100_000
_CONFLICT = "CONFLICT "


def packed(changes: Changes, most: int = MOST) -> ReturnedChanges:
    """The changes of a run whose overlay is still held, at most so many bytes of each form."""
    if changes.unread or len(changes.items) > _MOST_ITEMS:
        why = changes.unread or Message("more than {most} paths changed", most=_MOST_ITEMS)
        return ReturnedChanges(left_out=(str(why),))
    items = tuple(changes.items)
    left_out = list(changes.warnings)
    parts: list[bytes] = []
    size = 0
    for piece in patch(changes):
        size += len(piece.patch)
        if size > most:
            parts = []
            left_out.append(Message("the patch is larger than {most} bytes", most=most))
            break
        parts.append(piece.patch)
    archive, lost = _archive(items, sides_of(changes), most)
    return ReturnedChanges(
        items=items, patch=b"".join(parts), archive=archive, left_out=(*left_out, *lost)
    )


def _archive(items: tuple[Change, ...], sides: Sides, most: int) -> tuple[bytes, list[str]]:
    listed: list[dict[str, object]] = []
    lost: list[str] = []
    made, size = io.BytesIO(), 0
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as tar:
        for number, change in enumerate(items):
            row: dict[str, object] = {"path": change.path, "did": change.did.value}
            if change.renamed_from:
                row["from"] = change.renamed_from
            if change.before is not None:
                row["before"] = _was(change, sides)
            after = change.after
            if after is not None:
                row |= {"kind": after.kind.value, "mode": after.mode}
                if after.kind is FileKind.SYMLINK:
                    row["target"] = after.target
                elif after.kind is FileKind.FILE:
                    data = sides.after(change, LARGEST_FILE).data
                    size += len(data or b"")
                    if data is None or size > most:
                        why = "it is too large, or cannot be read"
                        lost.append(Message("{path}: {why}", path=change.path, why=Message(why)))
                        size -= len(data or b"")
                        continue
                    _put(tar, f"{FILES}{number}", data)
                    row["data"] = f"{FILES}{number}"
                elif after.kind is not FileKind.DIRECTORY:
                    why = "no file, directory or link"
                    lost.append(Message("{path}: {why}", path=change.path, why=Message(why)))
                    continue
            listed.append(row)
        _put(tar, LIST, json.dumps({"changes": listed, "lost": len(lost)}).encode())
    return made.getvalue(), lost


def _put(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    header = tarfile.TarInfo(name)
    header.size = len(data)
    tar.addfile(header, io.BytesIO(data))


def _was(change: Change, sides: Sides) -> str:
    """What has to stand there for a change to fit: its kind, and its content where it has one."""
    before = change.before
    assert before is not None
    if before.kind is FileKind.SYMLINK:
        return " ".join(("symlink", before.target))
    if before.kind is not FileKind.FILE:
        return str(before.kind.value)
    data = sides.before(change, LARGEST_FILE).data
    return " ".join(("file", hashlib.sha256(data).hexdigest())) if data is not None else "file"


def applied_here(archive: bytes, sandbox: Sandbox) -> Result:
    """Does archived changes again in the workspace of a sandbox, which holds and applies them.

    ApplyConflict where a path does not stand as it stood where the item ran: nothing is applied.
    """
    from redoma.fleet.replay import replayed
    from redoma.model.call import Call

    result = sandbox.perform(Call(replayed, (archive, sandbox.workspace)))
    with suppress(AttributeError):
        said = str(result.failure.message)  # type: ignore[union-attr]
        if _CONFLICT in said:
            path = said.partition(_CONFLICT)[2]
            raise ApplyConflict(
                Message("{path} is not as it was where the item ran", path=path),
                paths=(path,),
                hint="give the workspace that was sent, as it was",
            )
    return result


def read_archive(path: str) -> bytes:
    """An archive from disk, of a size that one of ours may have."""
    try:
        with open(path, "rb") as file:
            return file.read(4 * MOST)
    except OSError as error:
        raise RedomaError(
            "the archive {path} cannot be read: {why}", path=path, why=error.strerror
        ) from error
