"""The call worker: the process that runs one call, forked before anyone asks for it.

While the sandbox init finishes the root, the worker gives up every privilege; it begins when the
init says so, in the root that stands then. A program is started otherwise: it would throw away the
interpreter that was forked for it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from redoma.base.cores import AF_UNIX, MSG_DONTWAIT, SOCK_SEQPACKET, socket, socketpair
from redoma.jail.forkserver import first_process, messages
from redoma.jail.forkserver.messages import SandboxDescription, SandboxRequest
from redoma.jail.kernel import privileges, syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

COULD_NOT_SET_UP = 125
# By name: the forkserver loads it once a call is asked for, and nothing here needs it before.
HARNESS = "redoma.jail.calls.harness"
_FIRST = 1
_SPENT = 500
_RESET = [n for n in range(1, 32) if n not in (signal.SIGKILL, signal.SIGSTOP)]
_READY, _CONFINED, _GO, _FAILED = b"ready", b"confined", b"go", b"!"
_LONGEST = 4096


class CallWorker:
    """Seen from the first process: who it is, and how it is told to begin."""

    def __init__(self, requests: socket, processes: int) -> None:
        """`requests` is where it is asked; `processes` is the new root's own /proc."""
        self._line, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._line.close()
            _WorkerProcess(theirs, processes).live(requests)
        theirs.close()
        requests.close()
        os.close(processes)
        # It makes a namespace that the kernel does not make while we change the root.
        self._heard(_READY)

    def begin(self) -> None:
        """From here on it is the command; it has given up everything."""
        self._heard(_CONFINED)
        self._line.send(_GO)

    @property
    def never_began(self) -> bool:
        """Whether it has ended because it could not become the command."""
        try:
            return self._line.recv(_LONGEST, MSG_DONTWAIT)[:1] == _FAILED
        except OSError:
            return False

    def _heard(self, wanted: bytes) -> None:
        said = self._line.recv(_LONGEST)
        if said == wanted:
            return
        if not said and wanted == _READY and os.WIFSIGNALED(os.waitpid(self.pid, 0)[1]):
            os._exit(COULD_NOT_SET_UP)  # somebody killed it: whoever asks takes another
        why = said.removeprefix(_FAILED).decode(errors="surrogateescape")
        raise OSError(0, why or "the command's process ended before it began")


class _WorkerProcess:
    """The process itself."""

    def __init__(self, line: socket, processes: int) -> None:
        self._line = line
        self._processes = processes
        self._begun = False
        self._call = sys.modules[HARNESS]

    def live(self, requests: socket) -> NoReturn:
        """Never returns: ends as the command does."""
        try:
            self._settle()
            fds = messages.receive_many(requests, *messages.receive(requests))
            if fds:
                self._run(SandboxRequest(fds))
        except (OSError, ValueError, KeyError, MemoryError) as error:
            said = f"{error}".encode(errors="surrogateescape")
            if self._begun:
                os.write(2, b"redoma: " + said + b"\n")
            self._line.send(_FAILED + said[: _LONGEST - 1])
        finally:
            os._exit(COULD_NOT_SET_UP)

    def _settle(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        privileges.enter_user_namespace(self._processes)  # the mounts belong to the one outside it
        privileges.gain_no_capabilities()
        privileges.no_new_privileges()
        self._call.rehearse()
        self._line.send(_READY)

    def _run(self, request: SandboxRequest) -> None:
        # A process that moves itself waits for nobody; moving another takes milliseconds.
        for fd in request.cgroup_files:
            os.write(fd, b"0")
        syscalls.unshare(
            syscalls.CLONE_NEWCGROUP
        )  # now: the group it is in is all it knows of groups
        self._be_the_first_to_go()
        orders = SandboxDescription(request.options)
        os.umask(request.umask)
        privileges.hold_no_capabilities()
        request.restrict(orders)
        self._line.send(_CONFINED)
        self._begun = True
        os.environ.clear()
        os.environ.update(orders.env)
        gc.enable()
        told = self._call.taken()
        if self._line.recv(_LONGEST) != _GO:
            os._exit(COULD_NOT_SET_UP)  # the first process has ended
        os.chdir(orders.directory)
        privileges.let_in_others()  # it is the command now
        self._call.perform(told, _over)

    def _be_the_first_to_go(self) -> None:
        """Where memory runs out it is taken from the command, not from whoever reports its end."""
        file = os.open("self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC, dir_fd=self._processes)
        os.write(file, b"%d" % max(_SPENT, int(os.read(file, 16))))
        os.close(file)


def _over() -> None:
    os.kill(_FIRST, first_process.OVER)
