"""Where a running server is, and what this user's commands say to it: in a private file."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from redoma.base import own_directories, private_file
from redoma.base.identity import identity, is_running
from redoma.model.errors import StateUnavailable
from redoma.model.value import Value
from redoma.sessions.errors import SessionError

_NAME = "serve.json"
_LARGEST = 64 << 10


class ServerAddress(Value):
    """A server of this user's; `certificate` is its own, as PEM, where it speaks TLS."""

    url: str
    bearer: str
    process: str
    certificate: str = ""


def publish(url: str, bearer: str, certificate: str) -> ServerAddress:
    """Tells this user's commands of a server; of several, the newest is told of."""
    found = ServerAddress(
        url=url, bearer=bearer, process=identity(os.getpid()), certificate=certificate
    )
    said = {name: getattr(found, name) for name in ("url", "bearer", "process", "certificate")}
    private_file.write(_path(), json.dumps(said))
    return found


def withdraw(address: ServerAddress) -> None:
    """Takes that back, where it is still this server's."""
    if _read() == address:
        with suppress(OSError):
            os.unlink(_path())


def running_server() -> ServerAddress:
    """This user's server; SessionError where none runs."""
    found = _read()
    if found is None or not is_running(found.process):
        raise SessionError("no server of yours is running", hint="redoma serve")
    return found


def _read() -> ServerAddress | None:
    data = private_file.read_private(_path(), StateUnavailable, most=_LARGEST)
    if data is None:
        return None
    try:
        return ServerAddress(**json.loads(data))
    except (ValueError, TypeError):
        return None


def _path() -> str:
    return os.path.join(own_directories.made_state(), _NAME)
