"""Keeps one command in a cell: starts it as its user, reports its end, kills its whole tree.

It stays between the cell's first process and the command. Whatever the command starts and loses
becomes this process's child: so all of it is found when its time is over. When the command ends by
itself, what it left running goes on under the cell's first process.
"""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import stat
import time
from contextlib import suppress

from redoma.jail.forkserver.first_process import be_the_first_to_go
from redoma.jail.kernel import privileges, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_CHUNK = 1 << 20
_LONGEST_TABLE = 1 << 20
# What root of a cell may do, as in a container: owners and modes of files, users, low ports.
_OF_ROOT = (0, 1, 3, 4, 5, 6, 7, 8, 10)
_RESET = [n for n in range(1, 32) if n not in (signal.SIGKILL, signal.SIGSTOP)]


class UnknownUser(Exception):
    """The cell's own tables name no such user."""


class ExecKeeper:
    """One command from its start to its end."""

    def __init__(self, request: dict[str, Any], control: int, *, ranged: bool) -> None:
        """`ranged` says whether the cell has more users than one."""
        self._request = request
        self._control = control
        self._ranged = ranged

    def keep(self) -> NoReturn:
        """Never returns."""
        os.setsid()
        privileges.collect_orphans()
        try:
            user = self._user()
        except (UnknownUser, OSError, ValueError):
            self._say(b"user")
            os._exit(0)
        failed, failing = os.pipe()
        try:
            child = os.fork()
        except OSError as error:  # as many processes as the cell may have
            self._say(b"failed program %d" % (error.errno or errno.EAGAIN))
            os._exit(0)
        if child == 0:
            self._become(user, failing)
        os.close(failing)
        nothing = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(nothing, fd)
        why = os.read(failed, 64)
        if why:
            os.waitpid(child, 0)
            self._say(b"failed " + why)
            os._exit(0)
        self._say(b"begun")
        self._attend(child)

    def _attend(self, child: int) -> NoReturn:
        ended = os.pidfd_open(child)
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == ended:
                    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                    self._say(b"exit %d" % code)
                    os._exit(0)
                said = os.read(self._control, 64)
                if said[:1] == b"s":
                    for number in said.split()[:1]:
                        with suppress(OSError, ValueError):
                            os.killpg(child, int(number[1:]))
                    continue
                self._kill(child)
                self._say(b"killed")
                os._exit(0)

    @staticmethod
    def _kill(child: int) -> None:
        """Attack: what is killed forks meanwhile; so until nothing is left."""
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)
        while True:
            left = process.process_tree(os.getpid())[1:]
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.001)

    def _say(self, words: bytes) -> None:
        with suppress(OSError):
            os.write(self._control, words)

    def _user(self) -> tuple[int, int, list[int], str, str]:
        """Number, group, further groups, home and name of who the command runs as."""
        wanted = self._request["user"]
        for line in _table("/etc/passwd"):
            if len(line) == 7 and wanted in (line[0], line[2]):
                uid, gid = int(line[2]), int(line[3])
                groups = [
                    int(each[2])
                    for each in _table("/etc/group")
                    if len(each) == 4 and line[0] in each[3].split(",")
                ]
                return uid, gid, sorted({gid, *groups}), line[5], line[0]
        if wanted.isdecimal() and int(wanted) < 1 << 16:
            return int(wanted), int(wanted), [int(wanted)], "/", wanted
        raise UnknownUser(wanted)

    def _become(self, user: tuple[int, int, list[int], str, str], failing: int) -> NoReturn:
        """In the new process: the user, then the directory, then the program."""
        step = b"user"
        try:
            os.setsid()
            os.close(self._control)
            privileges.let_in_others()  # the kernel's own files about us are ours again
            be_the_first_to_go()
            uid, gid, groups, home, name = user
            self._give_up(uid, gid, groups)
            resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
            step = b"cwd"
            os.chdir(self._request["cwd"])
            if "file" in self._request:
                step = b"file"
                self._move(failing)
                os._exit(0)
            step = b"program"
            for number in _RESET:
                signal.signal(number, signal.SIG_DFL)
            env = {"HOME": home, "USER": name, "LOGNAME": name, **self._request["env"]}
            _run(self._request["argv"], env)
        except OSError as error:
            os.write(failing, b"%s %d" % (step, error.errno or errno.EIO))
        except (MemoryError, ValueError):
            os.write(failing, b"%s %d" % (step, errno.ENOMEM))
        finally:
            os._exit(1)

    def _give_up(self, uid: int, gid: int, groups: list[int]) -> None:
        if not self._ranged:
            if uid != os.getuid():
                raise OSError(errno.EPERM, "")
            privileges.drop_capabilities()
            return
        kept = _OF_ROOT if uid == 0 else ()
        privileges.gain_only(kept)
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        privileges.hold_only(kept)

    def _move(self, failing: int) -> None:
        """Reads a file to standard output, or writes one from standard input, as the user."""
        path, write = self._request["file"], self._request["write"]
        if write:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        else:
            flags = os.O_RDONLY
        # Attack: a pipe of that name would have whoever opens it wait for ever.
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o644)
        kind = os.fstat(fd).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, "")
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "")
        os.close(failing)
        source, target = (0, fd) if write else (fd, 1)
        try:
            while data := os.read(source, _CHUNK):
                view = memoryview(data)
                while view:
                    view = view[os.write(target, view) :]
        except OSError as error:
            os._exit(error.errno or errno.EIO)


def _table(path: str) -> list[list[str]]:
    # Attack: the cell's root replaces the table by a pipe, or by something endless.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        text = os.read(fd, _LONGEST_TABLE).decode(errors="surrogateescape")
    finally:
        os.close(fd)
    return [line.split(":") for line in text.splitlines()]


def _run(argv: list[str], env: dict[str, str]) -> NoReturn:
    """Becomes the program, found as a shell finds it; OSError where it cannot."""
    name, worst = argv[0], errno.ENOENT
    places = [name]
    if "/" not in name:
        places = [f"{place or '.'}/{name}" for place in env.get("PATH", "").split(":")]
    for place in places:
        try:
            try:
                os.execve(place, argv, env)  # noqa: S606
            except OSError as error:
                if error.errno != errno.ENOEXEC:
                    raise
                # A script that does not say by whom it is read.
                os.execve("/bin/sh", ["/bin/sh", place, *argv[1:]], env)  # noqa: S606
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                worst = error.errno or errno.EIO
    raise OSError(worst, "")
