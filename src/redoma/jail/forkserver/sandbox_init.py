"""The sandbox init: the first process (PID 1) of one sandbox, from its fork to its end.

It mounts the part of its root that is the same for every run before anyone asks for one, takes one
request, finishes the root, gives up every privilege, and starts the command.
"""

from __future__ import annotations

import errno
import functools
import os
import select
import signal
from contextlib import suppress
from fcntl import ioctl
from termios import TIOCSCTTY

from redoma.base.cores import socket
from redoma.jail.forkserver import first_process, messages
from redoma.jail.forkserver.call_worker import COULD_NOT_SET_UP, CallWorker
from redoma.jail.forkserver.messages import SandboxDescription, SandboxRequest
from redoma.jail.forkserver.root import Root
from redoma.jail.kernel import privileges, syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_RESET = [n for n in range(1, 32) if n not in (signal.SIGKILL, signal.SIGSTOP)]
_SPENT = 500


class SandboxInit:
    """A process in namespaces of its own, and nothing else yet."""

    def __init__(
        self, requests: socket, host: int, ids: tuple[int, int], worker_requests: socket | None
    ) -> None:
        """`ids` are our user and group, as they are called outside.

        `worker_requests` is where the call worker is asked, in a sandbox that is made for a call.
        """
        self._requests = requests
        self._host = host
        self._ids = ids
        self._worker_requests = worker_requests
        self._worker: CallWorker | None = None
        self._alarm = -1
        self._trouble: Exception | None = None
        self._root: Root | None = None

    def live(self, base: int, *, network: bool) -> NoReturn:
        """Never returns: ends with the command's own status, or when nobody asks for one."""
        self._try(lambda: self._settle(base, network=network))
        try:
            request = self._wait()
            if self._trouble is not None:
                raise self._trouble
            self._run(request)
        except (OSError, ValueError, KeyError, MemoryError) as error:
            with suppress(OSError):
                os.write(2, f"redoma: {error}\n".encode(errors="surrogateescape"))
        finally:
            os._exit(COULD_NOT_SET_UP)

    def _try(self, step: Callable[[], None]) -> None:
        """Does a step unless one before it failed; why it did is said to whoever asks."""
        if self._trouble is None:
            try:
                step()
            except (OSError, ValueError, KeyError) as error:
                self._trouble = error

    def _settle(self, base: int, *, network: bool) -> None:
        """What every run has alike."""
        os.setsid()  # Attack: TIOCSTI into the caller's terminal
        privileges.keep_name(*self._ids)
        if network:
            first_process.bring_up_loopback()
        orders = SandboxDescription(messages.read_words(base))
        self._root = Root(no_user_namespaces="--disable-userns" in orders.flags)
        self._root.begin()
        self._root.add(orders.steps)
        if self._worker_requests is not None:
            self._worker = CallWorker(self._worker_requests, self._root.processes())
            self._alarm = first_process.alarm(for_call=True)

    def _wait(self) -> SandboxRequest:
        poll = select.poll()
        for fd in (self._requests.fileno(), self._host):
            poll.register(fd, select.POLLIN)
        while True:
            if any(fd == self._host for fd, _ in poll.poll()):
                os._exit(0)
            data, fds = messages.receive(self._requests)
            if data != messages.AHEAD:
                break
            self._try(functools.partial(self._add, fds[0]))
        fds = messages.receive_many(self._requests, data, fds)
        if not fds:
            os._exit(0)  # nobody asked, and nobody will
        self._requests.close()
        return SandboxRequest(fds)

    def _add(self, words: int) -> None:
        """What comes first of the root, where it is known that a run will be asked for."""
        assert self._root is not None
        self._root.add(SandboxDescription(messages.read_words(words)).steps)

    def _run(self, request: SandboxRequest) -> NoReturn:
        # A process that moves itself waits for nobody; moving another takes milliseconds.
        for fd in request.cgroup_files:
            os.write(fd, b"0")
            os.close(fd)
        # Now: so that the group it is in is all it knows of groups.
        syscalls.unshare(syscalls.CLONE_NEWCGROUP)
        orders = SandboxDescription(request.options)
        for step in orders.steps:
            if step.name in ("--bind-fd", "--ro-bind-fd", "--ro-bind-data"):
                step.source = str(request.fds[int(step.source)])
        status, go = (request.fds[orders.numbers[n]] for n in ("--json-status-fd", "--block-fd"))
        assert self._root is not None
        self._root.add(orders.steps)
        self._root.enter()
        later: Callable[[], None] | None = None
        if self._worker is not None:
            child = self._let_in(self._worker, status, go)
            # Most calls are over in a moment. A filter for us, who hear nothing from them but
            # that, would then only be in their way.
            later = functools.partial(request.restrict, orders)
        else:
            self._alarm = first_process.alarm()
            child = self._begin(request, orders, status, go)
        for fd in (0, 1, 2, *(number for number in request.fds if number < messages.FIRST_OWN)):
            os.close(fd)  # else the end of the command's output would not be seen
        code = -child
        if child > 0:
            code = first_process.attend(child, go, self._alarm, self._host, later)
        if code == COULD_NOT_SET_UP and self._worker is not None and self._worker.never_began:
            os._exit(COULD_NOT_SET_UP)
        first_process.end(status, code)

    @staticmethod
    def _let_in(worker: CallWorker, status: int, go: int) -> int:
        """Lets the call begin: whoever makes it has given up everything, and so do we then.

        We stay in the user namespace outside its own; there is room for one, and that one is its.
        """
        first_process.introduce(status, os.getpid())
        first_process.wait_for_go(go)
        # Attack: the command reads or changes our memory; from its first moment it cannot. Whoever
        # supervises us looked for our root before.
        privileges.keep_out_others()
        worker.begin()
        privileges.drop_capabilities()
        privileges.no_new_privileges()
        return worker.pid

    def _begin(
        self, request: SandboxRequest, orders: SandboxDescription, status: int, go: int
    ) -> int:
        """Gives up everything and starts the command."""
        if request.terminal:
            ioctl(0, TIOCSCTTY, 0)
        os.umask(request.umask)
        sacrifice = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
        # The mounts belong to the namespace outside this one.
        privileges.enter_user_namespace()
        privileges.drop_capabilities()
        privileges.no_new_privileges()
        os.chdir(orders.directory)
        request.restrict(orders)
        first_process.introduce(status, os.getpid())
        first_process.wait_for_go(go)
        before = os.read(sacrifice, 16)
        # Where memory runs out it is taken from the command, not from whoever reports its end.
        os.write(sacrifice, b"%d" % max(_SPENT, int(before)))
        # Attack: the command reads or changes our memory; from its first moment it cannot.
        privileges.keep_out_others()
        child = _start(request, orders.env)
        os.write(sacrifice, before)
        return child


def _start(request: SandboxRequest, env: dict[str, str]) -> int:
    """The command's process, or below nought a shell's status for what cannot be run."""
    argv = request.argv
    try:
        # It shares our memory until the program starts: nothing of it is copied.
        try:
            return os.posix_spawn(argv[0], argv, env, setsigmask=(), setsigdef=_RESET)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            argv = ["/bin/sh", *argv]  # a script that does not say by whom it is read
            return os.posix_spawn(argv[0], argv, env, setsigmask=(), setsigdef=_RESET)
    except FileNotFoundError:
        return -127
    except OSError:
        return -126
