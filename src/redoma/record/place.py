"""Where the record lies: a directory and files that are ours alone, or nothing is written.

Attack: somebody else owns the file, or a link leads it elsewhere, or the group may write it: then
what is written can be read, moved or replaced by another user. The directory is 0700 and ours, so
that nobody can exchange a file between this look and its use.
"""

from __future__ import annotations

import os
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from redoma.model.errors import RecordUnavailable

DATABASE = "audit.db"
HEAD = "audit.head"
KEY = "audit.key"
_FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", HEAD, KEY)


def prepare(directory: str) -> None:
    """The directory exists and it and every file of the record is ours alone."""
    try:
        os.makedirs(os.path.dirname(directory), mode=0o700, exist_ok=True)
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise RecordUnavailable(
            f"the record's directory {directory} cannot be made: {error.strerror}",
            hint="set XDG_STATE_HOME to a directory that you can write",
        ) from error
    inspect(directory)


def inspect(directory: str) -> bool:
    """Whether there is a record; an error where anything of it is not ours alone.

    Nothing is opened: closing a second descriptor of a database lets go of the locks that this
    process holds on it.
    """
    if not _is_ours(directory, directory=True):
        return False
    found = [name for name in _FILES if _is_ours(os.path.join(directory, name), directory=False)]
    return DATABASE in found


def _is_ours(path: str, *, directory: bool) -> bool:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise RecordUnavailable(f"{path} cannot be looked at: {error.strerror}") from error
    if S_ISLNK(status.st_mode):
        raise RecordUnavailable(
            f"{path} is a symbolic link; the record is written to no place that a link names",
            hint=f"put a directory or file of your own there, or remove the link: {path}",
        )
    if not (S_ISDIR(status.st_mode) if directory else S_ISREG(status.st_mode)):
        raise RecordUnavailable(f"{path} is not a {'directory' if directory else 'plain file'}")
    if status.st_uid != os.geteuid():
        raise RecordUnavailable(
            f"{path} belongs to uid {status.st_uid}, not to you (uid {os.geteuid()})",
            hint="run as its owner, or set XDG_STATE_HOME to a directory of your own",
        )
    if status.st_mode & 0o077:
        wanted = "700" if directory else "600"
        raise RecordUnavailable(
            f"{path} is open to others (mode {S_IMODE(status.st_mode):o})",
            hint=f"chmod {wanted} {path}   # then: redoma audit verify",
        )
    if not directory and status.st_nlink != 1:
        raise RecordUnavailable(f"{path} has another name elsewhere (a hard link)")
    return True
