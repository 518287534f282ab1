"""Changes in few words, for tests of how they are shown."""

from __future__ import annotations

from redoma.model.change import Change, Did, FileKind, FileState


def file(
    size: int = 0, *, mode: int = 0o644, kind: FileKind = FileKind.FILE, **more: object
) -> FileState:
    return FileState(kind=kind, mode=mode, uid=1000, gid=1000, size=size, **more)  # type: ignore[arg-type]


DIRECTORY = file(kind=FileKind.DIRECTORY, mode=0o755)


def created(path: str, size: int = 0) -> Change:
    return Change(path=path, did=Did.CREATED, after=file(size))


def deleted(path: str, size: int = 0) -> Change:
    return Change(path=path, did=Did.DELETED, before=file(size))


def modified(path: str, before: int = 1, after: int = 2) -> Change:
    return Change(path=path, did=Did.MODIFIED, before=file(before), after=file(after))


def new_directory(path: str) -> Change:
    return Change(path=path, did=Did.CREATED, after=DIRECTORY)
