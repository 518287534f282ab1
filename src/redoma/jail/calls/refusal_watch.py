"""Looks on from inside a call, so that what the sandbox refuses has a name: path, host, program.

Audit hooks name what Python opens. SQLite, OpenSSL and their like open files by themselves, and
their errors have at best an errno: the paths behind these come from the error's message, and from
the values in the frame that called the library.

A message, not a boundary: whoever goes around it meets the kernel, and gets a worse message.
"""

from __future__ import annotations

import errno
import os
import sys

from redoma.base.paths import is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from redoma.jail.calls.wire import CallOrders

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SCRATCH = ("/tmp", "/var/tmp", "/dev", "/proc")
_OUT_OF_REACH = frozenset((errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR))
_MOST_NOTED = 1000
_LONGEST_CHAIN = 20
# event -> each argument that is a path it changes, with the one that says what it is relative to
_CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((1, 3),),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.setxattr": ((0, None),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, 3),),
}
_LOOKS = ("os.listdir", "os.scandir", "os.chdir")
_HERE = -1  # what an audit event has for the directory that the process is in
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
_MOST_VALUES = 200
_MOST_PATHS = 20
_LONGEST = 4096
_RAISES = ("RAISE_VARARGS", "RERAISE")
_QUOTES = "'\"`‘’“”"
_ENDS = _QUOTES + "<>|,;)]}\n"


class CallRefusal(PermissionError):
    """What the sandbox would refuse, said before it does."""

    def __init__(self, kind: str, what: str, constraint: str) -> None:
        self.kind = kind
        self.what = what
        self.constraint = constraint
        super().__init__(errno.EACCES, constraint, what)


class RefusalWatch:
    """One call's view of what it may touch."""

    def __init__(self, orders: CallOrders) -> None:
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
        if mode is None and isinstance(path, str | bytes) and not os.path.isabs(path):
            # `os.open` does not say which directory this is relative to: the kernel judges it.
            if writes and len(self._tried) < _MOST_NOTED:
                self._tried[os.path.abspath(os.fsdecode(path))] = WRITE
            return
        self._path(path, WRITE if writes else READ)

    def _changes(self, given: tuple[Any, ...], places: tuple[tuple[int, int | None], ...]) -> None:
        for place, directory in places:
            path = given[place]
            if directory is not None and given[directory] != _HERE:
                path = _below(given[directory], path)
            self._path(path, WRITE)

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
            raise CallRefusal(kind, path, "this path is hidden from the call")
        if kind == WRITE and not _within(real, self._writable):
            raise CallRefusal(WRITE, path, "this path is not among those that may be written")

    def _database(self, given: tuple[Any, ...]) -> None:
        """SQLite opens its file later and by itself, and names it in no error."""

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
            raise CallRefusal(SUBPROCESS, program, "the call may not start other processes")

    def _address(self, address: Any) -> None:
        if isinstance(address, tuple) and address and isinstance(address[0], str):
            self._host(address[0])

    def _host(self, host: Any) -> None:
        if isinstance(host, bytes):
            host = host.decode("ascii", "replace")
        if isinstance(host, str) and host not in ("", *_LOCAL) and not host.startswith("127."):
            raise CallRefusal(NETWORK, host, "the network is closed for this call")

    def refusal(self, error: BaseException) -> CallRefusal | None:
        """What the sandbox refused, where that is what an exception comes from."""
        known: BaseException | None = error
        for _ in range(_LONGEST_CHAIN):
            if known is None:
                break
            if isinstance(known, CallRefusal):
                return known
            found = self._explained(known) if isinstance(known, OSError) else None
            found = found or self._behind(known)
            if found is not None:
                return found
            known = known.__cause__ or known.__context__
        return None

    def about(self, error: BaseException) -> list[str]:
        """Every path that an error may be about, though it names none."""

        if type(error).__module__ != "sqlite3":
            return paths_behind(error)
        if _sqlite_number(error) not in (_READ_ONLY, _CANNOT_OPEN):
            return paths_in(str(error))  # a table that is not there is about no file
        return list(dict.fromkeys((*paths_behind(error), *self._databases)))

    def _behind(self, error: BaseException) -> CallRefusal | None:
        """What the sandbox refused to a library that only says that something failed."""
        if isinstance(error, OSError) and error.errno not in (*_OUT_OF_REACH, None):
            return None
        number = _sqlite_number(error)
        system = error.errno if isinstance(error, OSError) else None
        refused: CallRefusal | None = None
        for path in self.about(error):
            found = self._out_of_reach(path, system, number)
            if found is None and not os.path.lexists(path) and _within(path, self._writable):
                return None  # it may be made and is not there, which is reason enough
            refused = refused or found
        return refused

    def _out_of_reach(
        self, path: str, number: int | None, sqlite: int | None
    ) -> CallRefusal | None:
        real = os.path.realpath(path)
        kind = WRITE if number == errno.EROFS or sqlite == _READ_ONLY else READ
        kind = self._tried.get(path, kind)
        if _within(path, self._hidden) or _within(real, self._hidden):
            return CallRefusal(kind, path, "this path is hidden from the call")
        if not _within(real, self._seen) and not _within(path, self._seen):
            return CallRefusal(kind, path, "this path is not among those that may be read")
        made = sqlite == _CANNOT_OPEN and not os.path.lexists(path)
        if (kind == WRITE or made) and not _within(real, self._writable):
            return CallRefusal(WRITE, path, "this path is not among those that may be written")
        return None

    def tried(self, path: str) -> str:
        """What was last done with a path: `read` or `write`."""
        return self._tried.get(os.path.abspath(path), READ)

    def _explained(self, error: OSError) -> CallRefusal | None:
        if self._started and isinstance(error, BlockingIOError) and error.filename is None:
            return CallRefusal(SUBPROCESS, "another process", "as many processes run as may run")
        path = error.filename
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or error.errno not in _OUT_OF_REACH:
            return None
        path = os.path.abspath(path)
        real = os.path.realpath(path)
        kind = WRITE if error.errno == errno.EROFS else self._tried.get(path, READ)
        if _within(path, self._hidden) or _within(real, self._hidden):
            return CallRefusal(kind, path, "this path is hidden from the call")
        if error.errno == errno.EROFS or (kind == WRITE and not _within(real, self._writable)):
            return CallRefusal(WRITE, path, "this path is not among those that may be written")
        if not _within(real, self._seen) and not _within(path, self._seen):
            return CallRefusal(kind, path, "this path is not among those that may be read")
        return None


def _sqlite_number(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if type(code) is int else None


def _below(directory: int, path: Any) -> str | None:
    """A path of a directory that is open, as `shutil.rmtree` has them; None if nobody can say."""
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{directory}"), os.fsdecode(path))
    except (OSError, TypeError):
        return None


def _within(path: str, roots: tuple[str, ...]) -> bool:
    return any(is_within(path, root) for root in roots)


def paths_behind(error: BaseException) -> list[str]:
    """Absolute paths that the error may be about, the likeliest first; none for one of Python's."""
    if getattr(error, "filename", None) is not None or not _of_a_library(error):
        return []
    found = dict.fromkeys(paths_in(str(error)))
    for value in _strings(_values(error)):
        path = as_path(value)
        if path:
            found[path] = None
        if len(found) >= _MOST_PATHS:
            break
    return list(found)


def paths_in(text: str) -> list[str]:
    """The absolute paths that a message mentions."""
    return list(_in_text(text[:_LONGEST]))[:_MOST_PATHS]


def as_path(value: str) -> str:
    """The absolute path that a text is, also as a `file:` address; empty where it is none."""
    if value.startswith("file:"):
        value = value[5:].partition("?")[0].partition("#")[0]
        value = value[2:] if value.startswith("///") else value
    value = os.path.expanduser(value) if value.startswith("~/") else value
    if not value.startswith(("/", "../")) or "\0" in value or "\n" in value:
        return ""
    return os.path.abspath(value) if len(value) <= _LONGEST else ""


def _of_a_library(error: BaseException) -> bool:
    """Whether this was raised by a call into C, as an error of the system or of a library."""
    if not isinstance(error, OSError) and type(error).__module__ == "builtins":
        return False
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return True  # nobody raised it in Python
    from opcode import opname

    code = last.tb_frame.f_code.co_code
    return opname[code[last.tb_lasti]] not in _RAISES


def _values(error: BaseException) -> Iterable[object]:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ()
    frame = last.tb_frame
    return (*frame.f_locals.values(), *frame.f_code.co_consts)


def _strings(values: Iterable[object], *, deeper: bool = True) -> Iterator[str]:
    for value, _ in zip(values, range(_MOST_VALUES), strict=False):
        kind = type(value)
        if kind is str:
            yield value  # type: ignore[misc]
        elif kind is bytes:
            yield os.fsdecode(value)  # type: ignore[arg-type]
        elif kind.__module__.startswith("pathlib") and isinstance(value, os.PathLike):
            yield os.fspath(value)
        elif deeper and kind in (tuple, list):
            yield from _strings(value, deeper=False)  # type: ignore[arg-type]
        elif deeper and kind is dict:
            yield from _strings(value.values(), deeper=False)  # type: ignore[attr-defined]


def _in_text(text: str) -> Iterator[str]:
    """In quotes as they are, else up to a blank."""
    at = text.find("/")
    while at >= 0:
        quote = text[at - 1] if at and text[at - 1] in _QUOTES else ""
        end = next(
            (
                place
                for place in range(at, len(text))
                if text[place] in _ENDS or (not quote and text[place] in " \t")
            ),
            len(text),
        )
        path = text[at:end].rstrip(".:")
        if not at or not (text[at - 1].isalnum() or text[at - 1] in ":/."):
            found = as_path(path)
            if found and found != "/":
                yield found
        at = text.find("/", end)
