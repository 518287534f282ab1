"""Notes which files a command opens or executes, and what it may not write or reach.

The kernel reports each call (`SECCOMP_RET_USER_NOTIF`) to a thread of ours, which notes it and lets
it go on. The filter has to stand before the program starts, so such a launch is forked.

It is a report and not a boundary: what the thread reads of a process is what the process shows.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import stat
import threading
import warnings
from contextlib import suppress
from struct import calcsize, pack, unpack

from redoma.jail.kernel import privileges
from redoma.jail.kernel.seccomp_notify import (
    Notice,
    Notices,
    address_at,
    filter_of_calls,
    open_in_root,
    text_at,
)
from redoma.model.errors import UsageError
from redoma.model.grant import Launch
from redoma.model.message import Message
from redoma.model.result import Attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MOST_FILES = 10_000
MOST_REFUSED = 200
_EXECUTIONS = ("execve", "execveat")
_OPENS = ("open", "openat")
_DNS = 53
_NEEDS = {
    os.O_RDONLY: os.R_OK,
    os.O_WRONLY: os.W_OK,
    os.O_RDWR: os.R_OK | os.W_OK,
    os.O_ACCMODE: 0,
}
_LONGEST_END = 5.0
_COULD_NOT = 125


class FileTrace:
    """The files of one run."""

    def __init__(self) -> None:
        # As the command's own mounts name them, links resolved; in order of their first use.
        self._files: dict[bytes, None] = {}
        self._refused: dict[Attempt, None] = {}
        self._unread = 0
        self._more = self._armed = self._recording = False
        self._stopped, self._stop = os.pipe()
        self._thread: threading.Thread | None = None
        self._notices: Notices | None = None

    def reported_on(self, fd: int) -> None:
        """Where the kernel reports; who opens a file waits until someone listens."""
        self._notices = Notices(fd)

    def listen(self) -> None:
        """Answers what is reported from now on, in a thread with the caller's identity.

        That thread is no part of the command: it is started outside of the command's control
        group, or it would count as one of its processes.
        """
        self._thread = threading.Thread(target=self._work, name="redoma-trace", daemon=True)
        self._thread.start()

    def command_begins(self) -> None:
        """What is executed next is the command; before it only the sandbox opened files."""
        self._armed = True

    def close(self) -> None:
        """Ends the thread; nothing of the run is left that could wait for an answer."""
        if self._stop < 0:
            return
        os.write(self._stop, b"!")
        if self._thread is not None:
            self._thread.join(_LONGEST_END)
        for fd in (self._stopped, self._stop, *([self._notices.fd] if self._notices else [])):
            os.close(fd)
        self._stop = -1

    def files(self) -> tuple[str, ...]:
        """Every file once; bytes that are no text are kept as surrogates."""
        return tuple(os.fsdecode(path) for path in self._files)

    def refused(self) -> tuple[Attempt, ...]:
        """What could not be written, and which addresses were asked for, in order."""
        return tuple(self._refused)

    def notes(self) -> tuple[str, ...]:
        """What the list does not say."""
        made = []
        if self._more:
            made.append(
                Message(
                    "more than {most} files were opened; the others are not listed", most=MOST_FILES
                )
            )
        if self._unread:
            made.append(
                Message(
                    "{count} times it could not be read which file was opened", count=self._unread
                )
            )
        return tuple(made)

    def _work(self) -> None:
        notices = self._notices
        assert notices is not None
        poll = select.poll()
        poll.register(notices.fd, select.POLLIN)
        poll.register(self._stopped, select.POLLIN)
        while True:
            for fd, event in poll.poll():
                if fd == self._stopped or not event & select.POLLIN:
                    return
                notice = notices.receive()
                if notice is None:
                    continue
                try:
                    self._note(notice, notices)
                finally:
                    notices.go_on(notice)

    def _note(self, notice: Notice, notices: Notices) -> None:
        if self._armed and notice.call in _EXECUTIONS:
            self._recording = True
        if not self._recording:
            return
        try:
            attempt: Attempt | None = None
            found: bytes | None = None
            if notice.call == "connect":
                attempt = _reached(notice)
            else:
                named = text_at(notice.thread, notice.path_at)
                path = _whole_path(notice, named)
                if notice.call in _EXECUTIONS or notice.call in (*_OPENS, "creat", "truncate"):
                    found = _found(notice, path)
                if found is None and _writes(notice) and not _writable(notice, path):
                    attempt = _of_write(path, named)
        except OSError:
            if notices.still_there(notice):
                self._unread += notice.call != "connect"
            return
        # Attack: the thread ended meanwhile, and its number is now that of a program outside.
        if not notices.still_there(notice):
            return
        if attempt is not None and len(self._refused) < MOST_REFUSED:
            self._refused[attempt] = None
        if found is None or found in self._files or self._more:
            return
        if len(self._files) >= MOST_FILES:
            self._more = True
            return
        self._files[found] = None


def _reached(notice: Notice) -> Attempt | None:
    """Another machine, or whoever could tell its address."""
    found = address_at(notice)
    if found is None:
        return None
    address, port = found
    if port != _DNS and (address.startswith("127.") or address in ("::1", "::ffff:127.0.0.1")):
        return None
    return Attempt(kind="network", what=f"{address}:{port}")


def _of_write(path: bytes, named: bytes) -> Attempt:
    whole = os.fsdecode(os.path.normpath(path))
    return Attempt(kind="write", what=whole, named=os.fsdecode(named))


def _writes(notice: Notice) -> bool:
    if notice.call not in _OPENS:
        return notice.call not in _EXECUTIONS
    return bool(notice.flags & (os.O_ACCMODE | os.O_CREAT | os.O_TRUNC))


def _writable(notice: Notice, path: bytes) -> bool:
    """Whether whoever asks may change what is there, or make it where it is not."""
    root = os.open(f"/proc/{notice.thread}/root", os.O_PATH | os.O_CLOEXEC)
    fd = -1
    try:
        try:
            fd = open_in_root(root, path, 0)
            if notice.call not in (*_OPENS, "creat", "truncate"):
                os.close(fd)  # its name is changed, which is its directory's
                fd = -1
                fd = open_in_root(root, os.path.dirname(path.rstrip(b"/")) or b"/", 0)
        except FileNotFoundError:
            if notice.call in _OPENS and not notice.flags & os.O_CREAT:
                return True  # it is not there, and was not to be made
            fd = open_in_root(root, os.path.dirname(path.rstrip(b"/")) or b"/", 0)
        return os.access(f"/proc/self/fd/{fd}", os.W_OK)
    except OSError:
        return False
    finally:
        os.close(root)
        if fd >= 0:
            os.close(fd)


def _whole_path(notice: Notice, text: bytes) -> bytes:
    """The path that was asked for, from the root."""
    if text.startswith(b"/"):
        return text
    link = "cwd" if notice.directory is None else f"fd/{notice.directory}"
    base = os.readlink(f"/proc/{notice.thread}/{link}".encode())
    return base + b"/" + text if text else base


def _found(notice: Notice, path: bytes) -> bytes | None:
    """The file that the call will get; None where it will get none, or a directory.

    We have the command's own identity, so what we may not open, it may not either.
    """
    if path.startswith((b"/proc/self/", b"/proc/thread-self/")):
        return os.path.normpath(path)  # which file that is only the thread itself can tell
    opening = notice.call in ("open", "openat")
    flags = os.O_WRONLY | os.O_CREAT if notice.call == "creat" else notice.flags if opening else 0
    if flags & os.O_PATH:
        return None
    root = os.open(f"/proc/{notice.thread}/root", os.O_PATH | os.O_CLOEXEC)
    try:
        try:
            fd = open_in_root(root, path, flags & os.O_NOFOLLOW)
        except OSError as error:
            if error.errno == errno.ENOENT and flags & os.O_CREAT:
                return _created(root, path)
            return None
    finally:
        os.close(root)
    try:
        kind = os.fstat(fd).st_mode
        if flags & os.O_CREAT and flags & os.O_EXCL:
            return None
        if not (stat.S_ISREG(kind) or stat.S_ISCHR(kind) or stat.S_ISFIFO(kind)):
            return None
        if notice.call in _EXECUTIONS:
            needed = os.X_OK
        else:
            needed = os.W_OK if notice.call == "truncate" else _NEEDS[flags & os.O_ACCMODE]
        return _name(fd) if os.access(f"/proc/self/fd/{fd}", needed) else None
    finally:
        os.close(fd)


def _created(root: int, path: bytes) -> bytes | None:
    """The name of a file that does not exist yet, if it can be made where it is asked for."""
    directory, _, name = path.rstrip(b"/").rpartition(b"/")
    with suppress(OSError):
        fd = open_in_root(root, directory or b"/", os.O_DIRECTORY)
        try:
            if os.access(f"/proc/self/fd/{fd}", os.W_OK | os.X_OK):
                return _name(fd).rstrip(b"/") + b"/" + name
        finally:
            os.close(fd)
    return None


def _name(fd: int) -> bytes:
    """Where the command's own mounts have this file."""
    return os.readlink(f"/proc/self/fd/{fd}".encode())


def start(
    launch: Launch, actions: list[tuple[Any, ...]], trace: FileTrace, *, new_session: bool
) -> int:
    """The process id; `actions` are those of `posix_spawn`.

    That one could not be used: it keeps this interpreter from running until the program has been
    executed, and the program waits for us to say that it may be.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    code = filter_of_calls()
    with ours, theirs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it makes system calls only
            child = os.fork()
        if child == 0:
            _become(launch, actions, theirs, code, new_session=new_session)
        theirs.close()
        said, beside, _, _ = ours.recvmsg(256, socket.CMSG_SPACE(calcsize("i")))
    if not beside:
        os.waitpid(child, 0)
        from redoma.model.remedies import Help, Remedy

        raise UsageError(
            "it cannot be told here which files a command opens: {why}",
            why=said.decode() or Message("it died"),
            hint=Remedy(help=Help.NO_TRACE),
        )
    (reports,) = unpack("i", beside[0][2])
    os.set_inheritable(reports, False)  # noqa: FBT003
    trace.reported_on(reports)
    return child


def _become(
    launch: Launch,
    actions: list[tuple[Any, ...]],
    theirs: socket.socket,
    code: bytes,
    *,
    new_session: bool,
) -> NoReturn:
    try:
        try:
            privileges.no_new_privileges()
            reports = privileges.load_reporting_filter(code)
        except OSError as error:
            theirs.send(str(error.strerror).encode())
            os._exit(_COULD_NOT)
        # By hand: `send_fds` imports, and who is nobody may not be able to read our libraries.
        theirs.sendmsg([b"l"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, pack("i", reports))])
        os.close(reports)  # Attack: whoever has it inside could answer for us
        if new_session:
            os.setsid()
        for action in actions:
            _do(action)
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execve(launch.argv[0], launch.argv, launch.env)  # noqa: S606
    finally:
        os._exit(_COULD_NOT)


def _do(action: tuple[Any, ...]) -> None:
    kind = action[0]
    if kind == os.POSIX_SPAWN_DUP2:
        if action[1] == action[2]:
            os.set_inheritable(action[1], True)  # noqa: FBT003
        else:
            os.dup2(action[1], action[2])
    elif kind == os.POSIX_SPAWN_OPEN:
        opened = os.open(action[2], action[3], action[4])
        if opened != action[1]:
            os.dup2(opened, action[1])
    else:
        os.close(action[1])
