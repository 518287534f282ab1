"""Small files that only their owner can have written: read with suspicion, put in place whole."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from contextlib import contextmanager, suppress

from redoma.base import private_file
from redoma.base.identity import short_id
from redoma.model.errors import AskUnavailable
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 16 << 20
LONGEST_LOCK = 5.0  # a process that was stopped while it held the lock stops nobody else for long
_OTHERS = 0o077


def own_directory(path: str) -> str:
    """The directory, made if it is not there; ours alone, or an error that says why not."""
    try:
        _make(path)
        found = os.lstat(path)
    except OSError as error:
        raise AskUnavailable(
            "cannot keep questions in {path}: {why}",
            path=path,
            why=error.strerror,
            hint="set XDG_STATE_HOME",
        ) from error
    # Attack: another user makes the directory first, or can put answers into ours.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise AskUnavailable(
            "{path} is not a directory of yours: what it holds is not trusted",
            path=path,
            hint=Message("look at it: ls -ld {path}", path=path),
        )
    if stat.S_IMODE(found.st_mode) & _OTHERS:
        raise AskUnavailable(
            "{path} is open to others: what it holds is not trusted",
            path=path,
            hint=f"chmod 700 {path}",
        )
    return path


def _make(path: str) -> None:
    """Makes a directory and those above it that are missing, each for its owner alone."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(each, 0o700)


def read(path: str) -> dict[str, object] | None:
    """The object in a file; None where there is no file; an error where it cannot be trusted."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AskUnavailable("cannot read {path}: {why}", path=path, why=error.strerror) from error
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise AskUnavailable("{path} is not a file of yours: it is not trusted", path=path)
        if stat.S_IMODE(found.st_mode) & _OTHERS:
            raise AskUnavailable(
                "{path} is open to others: it is not trusted",
                path=path,
                hint=Message("look at it, then remove it: {path}", path=path),
            )
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise AskUnavailable("{path} is too large to be one of ours", path=path)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AskUnavailable(
            "{path} is damaged: {error}",
            path=path,
            error=error,
            hint=Message("remove it: {path}", path=path),
        ) from error
    if not isinstance(content, dict):
        raise AskUnavailable(
            "{path} is damaged: no object", path=path, hint=Message("remove it: {path}", path=path)
        )
    return content


def replace(path: str, content: dict[str, object]) -> None:
    """Puts the object in place of what was there, in one step."""
    try:
        private_file.write(path, json.dumps(content), durable=True)
    except OSError as error:
        raise AskUnavailable("cannot write {path}: {why}", path=path, why=error.strerror) from error


def create(path: str, content: dict[str, object]) -> bool:
    """Puts the object there if nothing is there; of several who try at once, one is told True."""
    temporary = _written(path, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise AskUnavailable("cannot write {path}: {why}", path=path, why=error.strerror) from error
    finally:
        _drop(temporary)
    return True


def remove(path: str) -> bool:
    """Takes a file away; of several who try at once, one is told True."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise AskUnavailable(
            "cannot remove {path}: {why}", path=path, why=error.strerror
        ) from error
    return True


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Nobody else is between the same two lines for the same file until the block ends."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o600)
    except OSError as error:
        raise AskUnavailable("cannot lock {path}: {why}", path=path, why=error.strerror) from error
    try:
        _lock(handle, path)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, path: str) -> None:
    until = time.monotonic() + LONGEST_LOCK
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise AskUnavailable(
                    "{path} is held by another process", path=path, hint="try again"
                ) from None
            time.sleep(0.01)


def _written(path: str, content: dict[str, object]) -> str:
    temporary = f"{path}.{short_id()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(temporary, flags, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(json.dumps(content).encode("ascii"))
            file.flush()
            os.fsync(handle)
    except OSError as error:
        _drop(temporary)
        raise AskUnavailable("cannot write {path}: {why}", path=path, why=error.strerror) from error
    return temporary


def _drop(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
