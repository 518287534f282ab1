"""Looks on from inside a call, so that what the enclosure refuses has a name: path, host, program.

A message, not a boundary: whoever goes around it meets the kernel, and gets a worse message.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.jail.calls.orders import Orders

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SCRATCH = ("/tmp", "/var/tmp", "/dev", "/proc")
_OUT_OF_REACH = frozenset((errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR))
_MOST_NOTED = 1000
_LONGEST_CHAIN = 20
# (event, which arguments are paths that it changes)
_CHANGES = {
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.link": (1,),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.setxattr": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.utime": (0,),
}
_LOOKS = ("os.listdir", "os.scandir", "os.chdir")
_READ_ONLY, _CANNOT_OPEN = 8, 14  # of SQLite
_STARTS = (
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "subprocess.Popen",
)
_LOCAL = ("localhost", "::1", "ip6-localhost")

READ, WRITE, NETWORK, SUBPROCESS = "read", "write", "network", "subprocess"


class Refusal(PermissionError):
    """What the enclosure would refuse, said before it does."""

    def __init__(self, kind: str, what: str, constraint: str) -> None:
        self.kind = kind
        self.what = what
        self.constraint = constraint
        super().__init__(errno.EACCES, constraint, what)


class Watch:
    """One call's view of what it may touch."""

    def __init__(self, orders: Orders) -> None:
        scratch = (*_SCRATCH, *filter(None, (os.environ.get("TMPDIR"),)))
        self._hidden = orders.hidden
        self._writable = (*orders.writable, *scratch)
        self._seen = (*orders.seen, *self._writable)
        self._network = orders.network
        self._subprocesses = orders.subprocesses
        self._tried: dict[str, str] = {}
        self._databases: dict[str, None] = {}
        self._started = False
        self._events: dict[str, Callable[[tuple[Any, ...]], None]] = {"open": self._open}
        for event, places in _CHANGES.items():
            self._events[event] = lambda given, places=places: self._changes(given, places)  # type: ignore[misc]
        for event in _LOOKS:
            self._events[event] = lambda given: self._path(given[0], READ)
        self._events["sqlite3.connect"] = self._database
        for event in _STARTS:
            self._events[event] = self._starts
        if not orders.network:
            self._events["socket.connect"] = lambda given: self._address(given[1])
            self._events["socket.sendto"] = self._events["socket.connect"]
            self._events["socket.getaddrinfo"] = lambda given: self._host(given[0])
            self._events["socket.gethostbyname"] = self._events["socket.getaddrinfo"]

    def begin(self) -> None:
        """From here on what happens is the function's own doing."""
        sys.addaudithook(self._heard)

    def _heard(self, event: str, given: tuple[Any, ...]) -> None:
        listener = self._events.get(event)
        if listener is not None:
            listener(given)

    def _open(self, given: tuple[Any, ...]) -> None:
        path, mode, flags = given
        writes = bool(flags & _WRITING) if isinstance(flags, int) else False
        writes = writes or (isinstance(mode, str) and not set("wax+").isdisjoint(mode))
        self._path(path, WRITE if writes else READ)

    def _changes(self, given: tuple[Any, ...], places: tuple[int, ...]) -> None:
        for place in places:
            self._path(given[place], WRITE)

    def _path(self, path: Any, kind: str) -> None:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or "\0" in path:
            return  # a descriptor, whose opening was seen
        try:
            path = os.path.abspath(path)
            real = os.path.realpath(path) if self._hidden or kind == WRITE else path
        except OSError:
            return
        if kind == WRITE and len(self._tried) < _MOST_NOTED:
            self._tried[path] = WRITE
        if _within(path, self._hidden) or _within(real, self._hidden):
            raise Refusal(kind, path, "this path is hidden from the call")
        if kind == WRITE and not _within(real, self._writable):
            raise Refusal(WRITE, path, "this path is not among those that may be written")

    def _database(self, given: tuple[Any, ...]) -> None:
        """SQLite opens its file later and by itself, and names it in no error."""
        from redoma.jail.inner.call_evidence import as_path

        name = given[0]
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        elif not isinstance(name, str) and hasattr(type(name), "__fspath__"):
            name = os.fspath(name)
        if not isinstance(name, str) or name in ("", ":memory:"):
            return
        path = as_path(name) or os.path.abspath(name)
        if len(self._databases) < _MOST_NOTED:
            self._databases[path] = None
        self._path(path, READ)

    def _starts(self, given: tuple[Any, ...]) -> None:
        self._started = True
        if not self._subprocesses:
            program = given[0] if given and isinstance(given[0], str) else "another process"
            raise Refusal(SUBPROCESS, program, "the call may not start other processes")

    def _address(self, address: Any) -> None:
        if isinstance(address, tuple) and address and isinstance(address[0], str):
            self._host(address[0])

    def _host(self, host: Any) -> None:
        if isinstance(host, bytes):
            host = host.decode("ascii", "replace")
        if isinstance(host, str) and host not in ("", *_LOCAL) and not host.startswith("127."):
            raise Refusal(NETWORK, host, "the network is closed for this call")

    def refusal(self, error: BaseException) -> Refusal | None:
        """What the enclosure refused, where that is what an exception comes from."""
        known: BaseException | None = error
        for _ in range(_LONGEST_CHAIN):
            if known is None:
                break
            if isinstance(known, Refusal):
                return known
            found = self._explained(known) if isinstance(known, OSError) else None
            found = found or self._behind(known)
            if found is not None:
                return found
            known = known.__cause__ or known.__context__
        return None

    def about(self, error: BaseException) -> list[str]:
        """Every path that an error may be about, though it names none."""
        from redoma.jail.inner.call_evidence import paths_behind, paths_in

        if type(error).__module__ != "sqlite3":
            return paths_behind(error)
        if _sqlite_number(error) not in (_READ_ONLY, _CANNOT_OPEN):
            return paths_in(str(error))  # a table that is not there is about no file
        return list(dict.fromkeys((*paths_behind(error), *self._databases)))

    def _behind(self, error: BaseException) -> Refusal | None:
        """What the enclosure refused to a library that only says that something failed."""
        if isinstance(error, OSError) and error.errno not in (*_OUT_OF_REACH, None):
            return None
        number = _sqlite_number(error)
        system = error.errno if isinstance(error, OSError) else None
        refused: Refusal | None = None
        for path in self.about(error):
            found = self._out_of_reach(path, system, number)
            if found is None and not os.path.lexists(path) and _within(path, self._writable):
                return None  # it may be made and is not there, which is reason enough
            refused = refused or found
        return refused

    def _out_of_reach(self, path: str, number: int | None, sqlite: int | None) -> Refusal | None:
        real = os.path.realpath(path)
        kind = WRITE if number == errno.EROFS or sqlite == _READ_ONLY else READ
        kind = self._tried.get(path, kind)
        if _within(path, self._hidden) or _within(real, self._hidden):
            return Refusal(kind, path, "this path is hidden from the call")
        if not _within(real, self._seen) and not _within(path, self._seen):
            return Refusal(kind, path, "this path is not among those that may be read")
        made = sqlite == _CANNOT_OPEN and not os.path.lexists(path)
        if (kind == WRITE or made) and not _within(real, self._writable):
            return Refusal(WRITE, path, "this path is not among those that may be written")
        return None

    def tried(self, path: str) -> str:
        """What was last done with a path: `read` or `write`."""
        return self._tried.get(os.path.abspath(path), READ)

    def _explained(self, error: OSError) -> Refusal | None:
        if self._started and isinstance(error, BlockingIOError) and error.filename is None:
            return Refusal(SUBPROCESS, "another process", "as many processes run as may run")
        path = error.filename
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or error.errno not in _OUT_OF_REACH:
            return None
        path = os.path.abspath(path)
        real = os.path.realpath(path)
        kind = WRITE if error.errno == errno.EROFS else self._tried.get(path, READ)
        if _within(path, self._hidden) or _within(real, self._hidden):
            return Refusal(kind, path, "this path is hidden from the call")
        if error.errno == errno.EROFS or (kind == WRITE and not _within(real, self._writable)):
            return Refusal(WRITE, path, "this path is not among those that may be written")
        if not _within(real, self._seen) and not _within(path, self._seen):
            return Refusal(kind, path, "this path is not among those that may be read")
        return None


def _sqlite_number(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if type(code) is int else None


def _within(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
