"""Does archived changes again in a directory; it runs inside a sandbox and trusts nothing it reads.

Attack: an archive names `../..` or leads through a link. The sandbox is what holds it; this only
refuses early. Everything is compared before anything is written, so a conflict changes nothing.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import tarfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST = 1 << 30


def replayed(archive: bytes, workspace: str) -> int:
    """Carries out the list in an archive; ValueError("CONFLICT path") where it does not fit."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        data = {member.name: _content(tar, member) for member in tar if member.isfile()}
    rows = json.loads(data.pop("changes.json"))["changes"]
    for row in rows:
        _check(row, workspace)
    _rename_directories(rows, workspace)
    for row in reversed(rows):
        if row["did"] == "deleted":
            _remove(_place(row["path"], workspace))
        elif row["did"] == "renamed" and row["kind"] != "directory":
            _remove(_place(row["from"], workspace))
    for row in rows:
        if row["did"] != "deleted":
            _make(row, data, workspace)
    return len(rows)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if member.size > _MOST:
        raise ValueError("CONFLICT " + member.name)
    found = tar.extractfile(member)
    return b"" if found is None else found.read()


def _place(path: str, workspace: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        raise ValueError("CONFLICT " + path)
    above = workspace
    for part in parts[:-1]:
        above = f"{above}/{part}"
        if os.path.islink(above):
            raise ValueError("CONFLICT " + path)
    return f"{workspace}/{path}"


def _check(row: dict[str, Any], workspace: str) -> None:
    path = row.get("from") or row["path"]
    found = _stands(_place(path, workspace))
    wanted = row.get("before", "")
    if found != wanted and not (wanted == "file" and found.startswith("file ")):
        raise ValueError("CONFLICT " + path)


def _stands(place: str) -> str:
    try:
        status = os.lstat(place)
    except OSError:
        return ""
    if stat.S_ISLNK(status.st_mode):
        return " ".join(("symlink", os.readlink(place)))
    if stat.S_ISDIR(status.st_mode):
        return "directory"
    if not stat.S_ISREG(status.st_mode):
        return "other"
    with open(place, "rb") as file:
        return " ".join(("file", hashlib.file_digest(file, "sha256").hexdigest()))


def _rename_directories(rows: list[dict[str, Any]], workspace: str) -> None:
    for row in rows:
        if row["did"] == "renamed" and row["kind"] == "directory":
            new = _place(row["path"], workspace)
            _remove(new)
            os.makedirs(os.path.dirname(new), exist_ok=True)
            # A layer cannot rename a directory of what lies below it: then it is copied.
            shutil.move(_place(row["from"], workspace), new)


def _remove(place: str) -> None:
    if os.path.isdir(place) and not os.path.islink(place):
        shutil.rmtree(place)
    elif os.path.lexists(place):
        os.unlink(place)


def _make(row: dict[str, Any], data: dict[str, bytes], workspace: str) -> None:
    place = _place(row["path"], workspace)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if row["kind"] == "directory":
        if not os.path.isdir(place) or os.path.islink(place):
            _remove(place)
            os.mkdir(place)
        os.chmod(place, row["mode"] & 0o777)
        return
    _remove(place)
    if row["kind"] == "symlink":
        os.symlink(row["target"], place)
        return
    with open(place, "wb") as file:
        file.write(data[row["data"]])
    os.chmod(place, row["mode"] & 0o777)
