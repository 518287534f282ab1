"""The forkserver: a small process that stays, so that a sandbox costs no program's start.

It holds nothing of whoever started it but one socket, on which its client asks for processes. It
clones each into namespaces of its own, as a child of the client, who limits it, waits for it and
kills it. The forkserver ends when its client is gone.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
from contextlib import suppress

from redoma.base.cores import AF_UNIX, SOCK_SEQPACKET, socket, socketpair
from redoma.base.paths import is_within
from redoma.jail.forkserver import messages
from redoma.jail.forkserver.call_worker import HARNESS
from redoma.jail.forkserver.sandbox_init import SandboxInit
from redoma.jail.kernel import syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_OFTEN_ENOUGH = 20
_A_MOMENT = 4  # milliseconds


def main() -> NoReturn:
    """Serves until the other side is gone."""
    os.setsid()  # what a terminal sends to whoever started us is not for us
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    control, host = _raised(messages.CONTROL), _raised(messages.HOST)
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in range(3, messages.FIRST_OWN):
        if fd != nothing:
            os.dup2(nothing, fd, inheritable=False)
    gc.disable()
    _rehearse(messages.rehearse)
    gc.freeze()  # what is never looked at again is never copied either
    Forkserver(socket(fileno=control), host).serve()


def _raised(fd: int) -> int:
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    return fcntl(fd, F_DUPFD_CLOEXEC, messages.FIRST_OWN)


class Forkserver:
    """The process that stays, and clones a sandbox for each request of its client."""

    def __init__(self, control: socket, host: int) -> None:
        self._control = control
        self._host = host
        self._ids = (os.geteuid(), os.getegid())
        self._poll = select.poll()
        self._poll.register(control.fileno(), select.POLLIN)
        # A fork of whoever started us may keep the socket open: its end is told apart.
        self._poll.register(host, select.POLLIN)

    def serve(self) -> NoReturn:
        while True:
            if any(fd == self._host for fd, _ in self._poll.poll()):
                os._exit(0)
            asked, fds = messages.receive(self._control)
            if not asked:
                os._exit(0)
            if asked[:1] == messages.LATER:
                # Whoever asked has something to do now, and needs the processor for it.
                self._poll.poll(_A_MOMENT)
            try:
                self._make(asked.removeprefix(messages.LATER), fds[0])
            except OSError as error:
                messages.send(self._control, f"!{error.strerror or error}".encode())
            finally:
                for fd in fds:
                    os.close(fd)

    def _make(self, asked: bytes, base: int) -> None:
        """`asked` is whether there will be an entry, and the namespaces; answers with a process."""
        ends = [socketpair(AF_UNIX, SOCK_SEQPACKET)]
        if asked[:1] != messages.COMMAND:
            _load_harness()
            if asked[:1] == messages.BY_VALUE:
                _load_pickler()
            ends.append(socketpair(AF_UNIX, SOCK_SEQPACKET))
        namespaces = int(asked[1:])
        pid = syscalls.fork_into(namespaces | syscalls.CLONE_PARENT)
        if pid == 0:
            for theirs, _ in ends:
                theirs.close()
            self._control.close()
            worker_requests = ends[1][1] if len(ends) > 1 else None
            SandboxInit(ends[0][1], self._host, self._ids, worker_requests).live(
                base, network=bool(namespaces & syscalls.CLONE_NEWNET)
            )
        messages.send(self._control, b"%d" % pid, [theirs.fileno() for theirs, _ in ends])
        for theirs, ours in ends:
            theirs.close()
            ours.close()


def _moves() -> list[tuple[str, str]]:
    """Where our libraries were read from, and where they are inside."""
    told = sys.argv[3:]
    return list(zip(told[::2], told[1::2], strict=True))


def _load_harness() -> None:
    """Loads the harness of calls now: in a sandbox it may not be found, or be another one."""
    if HARNESS not in sys.modules:
        import importlib

        importlib.import_module(HARNESS)
        # Here, once: it touches every module, and whoever is forked would copy each page of them.
        _move_libraries(_moves())
        _rehearse(sys.modules[HARNESS].rehearse)
        gc.freeze()


def _load_pickler() -> None:
    """Loads what makes functions from bytes again; only this is taken from beside us.

    The libraries that it imports are found where they are here, and not where they are inside.
    """
    if "cloudpickle" not in sys.modules:
        import importlib

        _move_libraries([(inside, here) for here, inside in _moves()])
        sys.path.append(sys.argv[2])
        with suppress(ImportError):
            importlib.import_module("cloudpickle")
        sys.path.pop()
        _move_libraries(_moves())
        gc.freeze()


def _rehearse(part: Callable[[], object]) -> None:
    """The interpreter rewrites what it has run often enough: done here, and not in every fork."""
    for _ in range(_OFTEN_ENOUGH):
        part()


def _move_libraries(places: list[tuple[str, str]]) -> None:
    """Has what was loaded from the first of each pair go on as if from the second."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__path__", None)
        if isinstance(path, list):
            path[:] = [_moved(each, places) for each in path]
        _rename(module, "__file__", places)
        _rename(getattr(module, "__spec__", None), "origin", places)
    sys.path[:] = [_moved(each, places) for each in sys.path]
    for name in ("prefix", "base_prefix", "exec_prefix", "base_exec_prefix", "executable"):
        _rename(sys, name, places)
    sys.path_importer_cache.clear()


def _rename(of: Any, name: str, places: list[tuple[str, str]]) -> None:
    value = getattr(of, name, None)
    if isinstance(value, str) and _moved(value, places) != value:
        setattr(of, name, _moved(value, places))


def _moved(path: str, places: list[tuple[str, str]]) -> str:
    for old, new in places:
        if is_within(path, old):
            return new + path.removeprefix(old)
    return path
