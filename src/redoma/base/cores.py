"""The cores of `socket`, `queue`, `hashlib`, `json` and `sqlite3`: what those are written around.

A cold run needs a socket pair, a hash, a JSON line and a database, and not what the public modules
load beside them: `socket` takes 2.0 ms where its core takes 0.2, `hashlib` 1.7 and 0.1, `json` 1.4
and 0.1, `sqlite3` 1.7 and 0.6, `queue` 0.9 and 0.1. What is named here is the same object there, or
the class that the public one extends. No other module imports a private one of CPython, but for
`base/import_cache.py`, `base/pattern_cache.py` and `base/signals.py`, which are about them, and the
kernel's `_ctypes`.

Each name is looked up when it is first asked for: a shared library is loaded by who needs it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import (
        AF_INET,
        AF_INET6,
        AF_UNIX,
        CMSG_SPACE,
        MSG_CMSG_CLOEXEC,
        MSG_DONTWAIT,
        MSG_NOSIGNAL,
        SCM_RIGHTS,
        SO_RCVTIMEO,
        SOCK_DGRAM,
        SOCK_SEQPACKET,
        SOCK_STREAM,
        SOL_SOCKET,
        inet_ntop,
        inet_pton,
        sethostname,
        socket,
        socketpair,
    )
    from hashlib import blake2b
    from queue import SimpleQueue
    from sqlite3 import Connection, DatabaseError, Error, connect

__all__ = [
    "AF_INET",
    "AF_INET6",
    "AF_UNIX",
    "CMSG_SPACE",
    "MSG_CMSG_CLOEXEC",
    "MSG_DONTWAIT",
    "MSG_NOSIGNAL",
    "SCM_RIGHTS",
    "SOCK_DGRAM",
    "SOCK_SEQPACKET",
    "SOCK_STREAM",
    "SOL_SOCKET",
    "SO_RCVTIMEO",
    "Connection",
    "DatabaseError",
    "Error",
    "SimpleQueue",
    "blake2b",
    "connect",
    "inet_ntop",
    "inet_pton",
    "json_line",
    "sethostname",
    "socket",
    "socketpair",
]

_ELSEWHERE = {
    "blake2b": "_blake2",
    "SimpleQueue": "_queue",
    **dict.fromkeys(("Connection", "DatabaseError", "Error", "connect"), "_sqlite3"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(__import__(_ELSEWHERE.get(name, "_socket")), name)
    globals()[name] = found
    return found


def json_line(value: object) -> str:
    """What `json.dumps(value, separators=(",", ":"), allow_nan=False)` says, by its core alone.

    Raises TypeError for what is no JSON and ValueError for a number that JSON has not.
    """
    from _json import encode_basestring_ascii, make_encoder

    sort = skip = nan = False
    encode = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", sort, skip, nan)
    return "".join(encode(value, 0))


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not JSON")
