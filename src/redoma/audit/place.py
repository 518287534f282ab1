"""Where the record lies: a directory and files that are ours alone, or nothing is written."""

from __future__ import annotations

import os

from redoma.base.private_file import Key, is_own_directory, is_own_file, make_directory
from redoma.model.errors import RecordUnavailable

DATABASE = "audit.db"
HEAD = "audit.head"
_KEY_FILE = "audit.key"
_FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", HEAD, _KEY_FILE)

# Who has the key can write a past that verifies.
KEY = Key(
    file=_KEY_FILE,
    service="redoma audit",
    fails=RecordUnavailable,
    lost=RecordUnavailable,
    hint="put it back, or keep the record aside and begin anew: mv {} {}.old",
)


def prepare(directory: str) -> None:
    """The directory exists and it and every file of the record is ours alone."""
    make_directory(directory, RecordUnavailable)
    inspect(directory)


def inspect(directory: str) -> bool:
    """Whether there is a record; an error where anything of it is not ours alone."""
    if not is_own_directory(directory, RecordUnavailable):
        return False
    files = [os.path.join(directory, name) for name in _FILES]
    found = [path for path in files if is_own_file(path, RecordUnavailable)]
    return files[0] in found
