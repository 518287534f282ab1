"""Files that are ours alone: no link is followed, nobody else can read or replace them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from stat import S_IMODE, S_ISDIR, S_ISREG

from redoma.model.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST = 64 << 20
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


def read(directory: str, name: str) -> bytes | None:
    """What a file holds; None where there is none."""
    path = os.path.join(directory, name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise VaultError(f"{path} cannot be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise VaultError(f"{path} is not a file of yours")
        if S_IMODE(status.st_mode) & _OTHERS:
            raise VaultError(f"others may open {path}", hint=f"chmod 600 {path}")
        return file.read(_LARGEST)


def write(directory: str, name: str, data: bytes) -> None:
    """Replaces a file in one step; whoever reads it meanwhile has the old one, or the new."""
    path = os.path.join(directory, name)
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


@contextmanager
def locked(directory: str) -> Iterator[None]:
    """One at a time, whoever changes what is in the directory."""
    from fcntl import LOCK_EX, flock

    prepare(directory)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(os.path.join(directory, "lock"), flags, 0o600)
    try:
        flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)
