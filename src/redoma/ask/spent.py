"""Which approvals have been used: each is good for one run, whoever brings it again."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from hashlib import sha256

from redoma.ask import files
from redoma.model.errors import AskUnavailable

KEPT = 7 * 24 * 3600.0  # far longer than any question can be answered
_SWEPT_ONCE_IN = 64


class Spent:
    """The used approvals of one user."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def spend(self, question: str) -> bool:
        """Uses up the approval of a question; True for the first who does, for ever False after."""
        directory = files.own_directory(self._directory)
        # Attack: an id is whatever an answer says; its digest is a file name and nothing else.
        name = sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.close(os.open(f"{directory}/{name}", flags, 0o600))
        except FileExistsError:
            return False
        except OSError as error:
            raise AskUnavailable(
                f"cannot note in {directory} that an approval is used: {error.strerror}"
            ) from error
        if int(name[:8], 16) % _SWEPT_ONCE_IN == 0:
            _sweep(directory)
        return True


def _sweep(directory: str) -> None:
    now = time.time()
    for name in os.listdir(directory):
        with suppress(OSError):
            # A clock that was set back makes files of the future: those are kept.
            if now - os.lstat(f"{directory}/{name}").st_mtime > KEPT:
                os.unlink(f"{directory}/{name}")
