"""Writes a file whole or not at all: beside its place first, then renamed over it."""

from __future__ import annotations

import os
from _thread import get_native_id


def write(path: str, content: str | bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    """Puts `content` at `path`: whoever looks finds the whole of it, or what was there before.

    With `durable` it is on disk, and so is its name, before this returns. Raises OSError, and
    leaves nothing beside the path then.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = f"{path}.{os.getpid()}-{get_native_id()}.new"
    try:
        _write(temporary, data, mode, durable=durable)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    if durable:
        _sync_directory(os.path.dirname(path) or ".")


def _write(temporary: str, data: bytes, mode: int, *, durable: bool) -> None:
    # Attack: a link under the name that is to be expected, in a directory that others write.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(temporary, flags, mode)
    except FileExistsError:  # a process with our pid died while it wrote
        os.unlink(temporary)
        fd = os.open(temporary, flags, mode)
    with open(fd, "wb") as file:
        if mode & 0o077:
            os.fchmod(fd, mode)  # others are to read it, whatever our umask is
        file.write(data)
        if durable:
            file.flush()
            os.fsync(fd)


def _remove(path: str) -> None:
    # The import cache loads us before it can load anything faster: so no `contextlib`.
    try:  # noqa: SIM105
        os.unlink(path)
    except OSError:
        pass


def _sync_directory(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
