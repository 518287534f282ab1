"""Files that are ours alone: no link is followed, nobody else can read or replace them."""

from __future__ import annotations

import os
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISREG

from redoma.model.errors import VaultError

_LARGEST = 1 << 16
_OTHERS = 0o077


def prepare(directory: str) -> None:
    """The directory is there, ours alone."""
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        status = os.lstat(directory)
    except OSError as error:
        raise VaultError(f"{directory} cannot be made: {error.strerror}") from error
    # Attack: who may write the directory may exchange the file in it.
    if (
        not S_ISDIR(status.st_mode)
        or status.st_uid != os.geteuid()
        or S_IMODE(status.st_mode) & _OTHERS
    ):
        raise VaultError(
            f"{directory} is not a directory of yours alone", hint=f"chmod 700 {directory}"
        )


def is_there(path: str) -> bool:
    """Whether there is such a file; an error where it is not ours alone."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise VaultError(f"{path} cannot be looked at: {error.strerror}") from error
    if not S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise VaultError(f"{path} is not a file of yours")
    if S_IMODE(status.st_mode) & _OTHERS:
        raise VaultError(f"others may open {path}", hint=f"chmod 600 {path}")
    return True


def make(path: str) -> None:
    """An empty file of ours, where there is none."""
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o600))


def read(path: str) -> bytes | None:
    """What a small file holds; None where there is none."""
    if not is_there(path):
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise VaultError(f"{path} cannot be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LARGEST)


def write(path: str, data: bytes) -> None:
    """Replaces a file in one step; whoever reads it meanwhile has the old one, or the new."""
    fresh = f"{path}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(fresh, flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.rename(fresh, path)
    except OSError as error:
        raise VaultError(f"{path} cannot be written: {error.strerror}") from error
