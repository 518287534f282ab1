"""A cell: a sandbox that stays while several commands run in it, seen from outside."""

from __future__ import annotations

import atexit
import errno
import os
import posixpath
from _thread import allocate_lock
from contextlib import suppress
from itertools import count
from struct import pack
from weakref import WeakSet

from redoma.base import signals
from redoma.base.cores import AF_UNIX, SO_RCVTIMEO, SOCK_SEQPACKET, SOL_SOCKET, socketpair
from redoma.jail.cells import numbers
from redoma.jail.cells.cell_process import CellProcess
from redoma.jail.cells.description import described, packed
from redoma.jail.forkserver import messages
from redoma.jail.protect import installation
from redoma.jail.supervisor.host import Host
from redoma.jail.supervisor.limiter import Limiter
from redoma.jail.supervisor.start import inherited
from redoma.model.cell import DEFAULT_LIMITS, DEFAULT_USER, WORKSPACE, CellError, CellResult
from redoma.model.errors import EngineFailed, UsageError
from redoma.model.result import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from redoma.jail.kernel.cgroups import Groups
    from redoma.model.grant import Limits

_START = (
    "import sys; sys.path.append(sys.argv[1]); from redoma.jail.cells.cell_init import main; main()"
)
_PATIENCE = 60
_LARGEST_FILE = 100 << 20
_names = count(1)


class Cell:
    """A sandbox with an empty workspace of its own, in which commands run until it is closed.

    It has users (root among them, who is nobody on the machine), a writable root in memory, the
    machine's programs to read, no network, and nothing of the caller's but what is `readable`.
    What a command leaves running goes on until the cell ends; then all of it is gone.

    >>> import redoma
    >>> with redoma.Cell() as cell:
    ...     cell.write("notes/greeting", b"hello")
    ...     cell.exec(["sh", "-c", "cat notes/greeting; sleep 600 &"]).stdout
    b'hello'
    """

    __module__ = "redoma"

    def __init__(
        self,
        *,
        readable: Sequence[str] = (),
        limits: Limits = DEFAULT_LIMITS,
        env: Mapping[str, str] | None = None,
        groups: Groups | None = None,
    ) -> None:
        """Makes it, with its root and its limits; EngineFailed where it cannot be made here.

        `readable` are directories of the machine that commands may read, `env` variables that all
        of them have. `limits` hold for the cell as a whole; `temporary` is what may be written.
        """
        self.workspace = WORKSPACE
        self.user = DEFAULT_USER
        self.can_have_users = numbers.can_have_users()
        self._lock = allocate_lock()
        self._closed = False
        self._process = -1
        self._pid = 0
        self._owner = os.getpid()
        paths = tuple(os.path.realpath(each) for each in readable)
        for path in paths:
            if not os.path.isdir(path) or path == "/":
                raise UsageError("{path} is no directory that a cell can show", path=path)
        self.name = f"redoma-{os.getpid()}-{next(_names)}"
        what, search = described(
            limits=limits, readable=paths, ranged=self.can_have_users, name="redoma"
        )
        self._env = {
            "PATH": search,
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "SHELL": "/bin/sh",
            "TMPDIR": "/tmp",
            "PYTHONDONTWRITEBYTECODE": "1",
            "REDOMA": "1",
            **(env or {}),
        }
        self._limiter = Limiter(limits, groups if groups is not None else _groups(), frozenset())
        self._control, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        self._control.setsockopt(SOL_SOCKET, SO_RCVTIMEO, pack("ll", _PATIENCE, 0))
        try:
            try:
                starter = _started(theirs.fileno())
            finally:
                theirs.close()
            self._make(starter, what)
        except BaseException:
            self.close()
            raise
        _open.add(self)

    def _make(self, starter: int, what: dict[str, Any]) -> None:
        """Sees a process through its steps: who it was started as has gone when it serves."""
        try:
            file = packed(what)
            try:
                messages.send(self._control, b"begin", [file])
            finally:
                os.close(file)
            self._expect(b"map")
            # Now that it has a user namespace of its own: before, a cap on processes would count
            # all of this user's.
            self._limiter.apply(starter)
            numbers.write(starter, ranged=self.can_have_users)
            messages.send(self._control, b"mapped")
            first = self._expect(b"first")
            self._pid = int(first[6:])
            self._process = os.pidfd_open(self._pid)
            messages.send(self._control, b"go")
            self._expect(b"ready")
        except OSError as error:
            raise EngineFailed(
                "the cell could not be made: {why}", why=str(error), hint="redoma doctor"
            ) from error
        finally:
            with suppress(OSError):
                if not self._process >= 0:
                    os.kill(starter, signals.SIGKILL)
                os.waitpid(starter, 0)

    def _expect(self, word: bytes) -> bytes:
        said = messages.receive(self._control)[0]
        if not said.startswith(word):
            why = said[1:].decode(errors="replace") or "it ended"
            raise EngineFailed("the cell could not be made: {why}", why=why, hint="redoma doctor")
        return said

    def exec(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        user: str = "",
        timeout: float | None = None,
        output_limit: int | None = None,
    ) -> CellResult:
        """Runs a command to its end; OSError where the program cannot be run.

        `cwd` is relative to the workspace, `user` a name or a number of the cell's own.
        """
        process = self.start(argv, cwd=cwd, env=env, user=user)
        try:
            return process.communicate(input, timeout=timeout, output_limit=output_limit)
        finally:
            process.close()

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        user: str = "",
    ) -> CellProcess:
        """Starts a command and returns when it runs; whoever closes it ends it."""
        words = [os.fspath(word) for word in argv]
        if not words or any("\0" in word for word in words):
            raise UsageError("a command is one word or more, without a NUL")
        given = {**self._env, **(env or {})}
        return self._begun({"argv": words, "env": given}, cwd=cwd, user=user)

    def read(self, path: str, *, limit: int = _LARGEST_FILE, user: str = "") -> bytes:
        """The content of a file, as `user` may read it; OSError says why not.

        A file of more than `limit` bytes is one with the number EFBIG.
        """
        process = self._begun({"file": path, "write": False}, cwd="", user=user)
        try:
            found = process.communicate(output_limit=limit)
        finally:
            process.close()
        if found.outcome is Outcome.OUTPUT_TOO_LARGE:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        _all_well(found, path)
        return found.stdout

    def write(self, path: str, content: bytes, *, user: str = "") -> None:
        """Writes a file, and makes the directories above it; OSError says why not."""
        process = self._begun({"file": path, "write": True}, cwd="", user=user)
        try:
            _all_well(process.communicate(content), path)
        finally:
            process.close()

    def _begun(self, request: dict[str, Any], *, cwd: str, user: str) -> CellProcess:
        place = posixpath.join(WORKSPACE, cwd)
        process = CellProcess(self, {**request, "cwd": place, "user": user or self.user})
        try:
            process.begin()
        except BaseException:
            process.close()
            raise
        return process

    def send(self, fds: list[int]) -> None:
        """Asks the first process for a command."""
        if self._closed or os.getpid() != self._owner:
            raise CellError("the cell has ended", hint="make another one")
        try:
            messages.send(self._control, b"exec", fds)
        except OSError as error:
            raise CellError("the cell has ended", hint="make another one") from error

    @property
    def running(self) -> bool:
        """Whether commands can be started in it."""
        return not self._closed

    @property
    def pid(self) -> int:
        """The number of its first process, as the machine counts."""
        return self._pid

    @property
    def mechanisms(self) -> tuple[tuple[str, str], ...]:
        """By limit, what holds it here."""
        return self._limiter.mechanisms()

    def close(self) -> None:
        """Ends everything in it, and leaves nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._control.close()
        if os.getpid() != self._owner:
            return
        if self._process >= 0:
            with suppress(OSError):
                signals.send(self._process, signals.SIGKILL)
            # With the first process of a namespace the kernel ends every other, and only then
            # says that the first has ended.
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            os.close(self._process)
        self._limiter.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _all_well(found: CellResult, path: str) -> None:
    if found.exit_code:
        raise OSError(found.exit_code, os.strerror(found.exit_code), path)


def _started(control: int) -> int:
    """The process that becomes the cell's first; it holds nothing of ours but one socket."""
    host = os.pidfd_open(os.getpid())
    high = [_above(control), _above(host)]
    actions: list[Any] = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]
    actions += [
        (os.POSIX_SPAWN_DUP2, high[0], messages.CONTROL),
        (os.POSIX_SPAWN_DUP2, high[1], messages.HOST),
        *((os.POSIX_SPAWN_CLOSE, fd) for fd in inherited() if fd > messages.HOST),
    ]
    argv = (installation.INTERPRETER, "-I", "-S", "-c", _START, installation.LIBRARY)
    try:
        return os.posix_spawn(
            argv[0], argv, {}, file_actions=actions, setsigmask=(), setsigdef=range(1, 32)
        )
    except OSError as error:
        raise EngineFailed(
            "cannot start {program}: {why}", program=argv[0], why=error.strerror
        ) from error
    finally:
        for fd in (host, *high):
            os.close(fd)


def _above(fd: int) -> int:
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    return fcntl(fd, F_DUPFD_CLOEXEC, messages.FIRST_OWN)


_host: Host | None = None
_host_lock = allocate_lock()
_open: WeakSet[Cell] = WeakSet()


def _groups() -> Groups | None:
    """The control groups that this process may make; removed when it ends, with every cell."""
    global _host  # noqa: PLW0603
    with _host_lock:
        if _host is None:
            _host = Host()
            atexit.register(_end_all, _host)
        return _host.groups()


def _end_all(host: Host) -> None:
    for cell in list(_open):
        cell.close()
    host.close()


def _in_a_child() -> None:
    """A forked child has no cell of its parent's, nor anyone who holds the lock."""
    global _host, _host_lock
    _host, _host_lock = None, allocate_lock()
    _open.clear()


os.register_at_fork(after_in_child=_in_a_child)
