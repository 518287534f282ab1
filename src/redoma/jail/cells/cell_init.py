"""The first process (PID 1) of a cell: makes its namespaces and root, then starts what is asked.

It is started by whoever keeps the cell, and ends with them: with it the kernel ends everything that
runs in the cell, and everything that was written there was memory of the cell's own.
"""

from __future__ import annotations

import errno
import gc
import marshal
import os
import select
import signal
from contextlib import suppress
from fcntl import F_DUPFD_CLOEXEC, fcntl

from redoma.base.cores import sethostname, socket
from redoma.jail.cells.description import STAGE
from redoma.jail.cells.exec_keeper import ExecKeeper
from redoma.jail.forkserver import first_process, messages
from redoma.jail.forkserver.root import Root
from redoma.jail.kernel import mounts, privileges, syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_PRIVATE = 0x4000 | 0x40000
_OWN = (
    syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWCGROUP
)
_NEW = "/new"


def main() -> NoReturn:
    """Never returns: waits for the description of a cell, becomes it, and ends with its keeper."""
    os.setsid()  # what a terminal sends to whoever started us is not for us
    control = socket(fileno=fcntl(messages.CONTROL, F_DUPFD_CLOEXEC, messages.FIRST_OWN))
    host = fcntl(messages.HOST, F_DUPFD_CLOEXEC, messages.FIRST_OWN)
    for fd in range(3, messages.FIRST_OWN):
        with suppress(OSError):
            os.close(fd)
    data, fds = messages.receive(control)
    if not data:
        os._exit(1)
    try:
        described = marshal.loads(_content(fds[0]))  # noqa: S302 — from whoever started us
        CellInit(control, host, described).live()
    except (OSError, ValueError) as error:
        with suppress(OSError):
            messages.send(control, f"!{error}".encode(errors="replace")[:2000])
    finally:
        os._exit(1)


def _content(fd: int) -> bytes:
    try:
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)


class CellInit:
    """A process that becomes a cell's first."""

    def __init__(self, control: socket, host: int, described: dict[str, Any]) -> None:
        self._control = control
        self._host = host
        self._described = described
        self._ranged = bool(described["ranged"])

    def live(self) -> NoReturn:
        """Leaves the machine, a step at a time, and serves."""
        self._leave()
        first = syscalls.fork_into(_OWN | syscalls.CLONE_PARENT)
        if first != 0:
            messages.send(self._control, b"first %d" % first)
            os._exit(0)
        if messages.receive(self._control)[0] != b"go":
            os._exit(1)
        self._enter()
        messages.send(self._control, b"ready")
        gc.collect()
        gc.freeze()  # what is never looked at again is never copied by a fork either
        self._serve()

    def _leave(self) -> None:
        """A user namespace, and everything that the cell will show put where it can be reached."""
        if self._described["root"]:
            # The machine's root has no name in the cell; what root alone reaches is put up first.
            syscalls.unshare(syscalls.CLONE_NEWNS)
            self._put_up()
            syscalls.unshare(syscalls.CLONE_NEWUSER)
        else:
            syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
        messages.send(self._control, b"map")
        if messages.receive(self._control)[0] != b"mapped":
            os._exit(1)
        if not self._described["root"]:
            self._put_up()
        if self._ranged:
            os.setgroups([0])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)

    def _put_up(self) -> None:
        syscalls.mount("none", "/", "", _PRIVATE)
        sources = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in self._described["sources"]]
        mounts.memory(STAGE, size=1 << 16, mode=0o755, owner=(os.geteuid(), os.getegid()))
        os.mkdir(f"{STAGE}/empty", 0o755)
        for number, source in enumerate(sources):
            place = f"{STAGE}/{number}"
            if os.path.isdir(f"/proc/self/fd/{source}"):
                os.mkdir(place, 0o755)
            else:
                os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
            mounts.bind(f"/proc/self/fd/{source}", place)
            os.close(source)

    def _enter(self) -> None:
        """The root of the cell, and nothing of the machine's beside it."""
        described = self._described
        first_process.bring_up_loopback()
        _set_host_name(described["name"])
        root = Root(no_user_namespaces=True)
        root.begin(size=described["size"])
        for name, text in described["etc"]:
            path = f"/etc-changes{name}"
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o640 if "shadow" in name else 0o644)
        root.add(messages.SandboxDescription(described["root_words"]).steps)
        os.makedirs("/etc-changes", 0o755, exist_ok=True)
        os.mkdir("/etc-work", 0o755)
        os.makedirs(f"{_NEW}/etc", 0o755, exist_ok=True)
        mounts.overlay(
            f"{_NEW}/etc", lower=[f"/old{described['etc_below']}"],
            changes=("/etc-changes", "/etc-work"),
        )  # fmt: skip
        for path, mode, uid in described["directories"]:
            os.makedirs(_NEW + path, 0o755, exist_ok=True)
            os.chmod(_NEW + path, mode)
            os.chown(_NEW + path, *((uid, uid) if self._ranged else (-1, -1)))
        root.enter()
        if not self._ranged:
            privileges.gain_no_capabilities()
        privileges.no_new_privileges()
        privileges.load_filter(described["filter"])
        privileges.keep_out_others()
        nothing = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(nothing, fd)
        os.umask(0o022)

    def _serve(self) -> NoReturn:
        wake, woken = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(woken, False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        for fd in (self._control.fileno(), self._host, wake):
            poll.register(fd, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == wake:
                    with suppress(BlockingIOError):
                        os.read(wake, 4096)
                    _collect()
                elif fd == self._host:
                    os._exit(0)
                else:
                    self._begin_one((wake, woken))

    def _begin_one(self, own: tuple[int, int]) -> None:
        data, fds = messages.receive(self._control)
        if not data:
            os._exit(0)
        pid = -1
        try:
            # The kernel gives none to whoever has as many as they may: the end of its streams
            # tells whoever asked.
            if len(fds) >= 5:
                pid = os.fork()
        except OSError as error:
            with suppress(OSError):
                os.write(fds[1], b"failed program %d" % (error.errno or errno.EAGAIN))
        if pid == 0:
            self._keep_one(fds, own)
        for fd in fds:
            os.close(fd)

    def _keep_one(self, fds: list[int], own: tuple[int, int]) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            self._control.close()
            os.close(self._host)
            for fd in own:
                os.close(fd)
            request = marshal.loads(_content(fds[0]))  # noqa: S302 — from whoever keeps the cell
            for target, fd in enumerate(fds[2:5]):
                os.dup2(fd, target)
                os.close(fd)
            ExecKeeper(request, fds[1], ranged=self._ranged).keep()
        finally:
            os._exit(1)


def _collect() -> None:
    """Takes away what has ended: what watched a command, and orphans that others left."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _set_host_name(name: str) -> None:
    with suppress(OSError):
        sethostname(name)
