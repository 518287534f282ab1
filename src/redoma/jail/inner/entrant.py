"""The process that a call goes on in: forked before anyone asks, used for one call.

While the enclosure's first process finishes the root, this one gives up every privilege; it begins
when the first process says so, in the root that stands then.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
from _socket import AF_UNIX, SOCK_SEQPACKET, socket, socketpair

from redoma.jail.inner import packets
from redoma.jail.inner.orders import Orders
from redoma.jail.inner.request import Request
from redoma.jail.kernel import calls, privileges
from redoma.jail.run import first_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

COULD_NOT_ENCLOSE = 125
_DEFAULTS = [n for n in range(1, 32) if n not in (signal.SIGKILL, signal.SIGSTOP)]
_SPENT = b"500"
_READY, _GO = b"ready", b"go"
_LONGEST = 16
_FIRST = 1


class Entrant:
    """Seen from the first process: who it is, and how it is told to begin."""

    def __init__(self, requests: socket, processes: int) -> None:
        """`requests` is where it is asked; `processes` is the new root's own /proc."""
        self._line, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._line.close()
            _live(requests, theirs, processes)
        theirs.close()
        requests.close()
        os.close(processes)
        # It makes a namespace that the kernel does not make while we change the root.
        if self._line.recv(_LONGEST) != _READY:
            if os.WIFSIGNALED(os.waitpid(self.pid, 0)[1]):
                os._exit(COULD_NOT_ENCLOSE)  # somebody killed it: whoever asks takes another
            raise OSError(0, "the process of the call could not be made")

    def begin(self) -> None:
        """From here on it is the command."""
        self._line.send(_GO)
        self._line.close()


def _live(requests: socket, line: socket, processes: int) -> NoReturn:
    code = COULD_NOT_ENCLOSE
    try:
        for number in _DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        privileges.enter_user_namespace(processes)  # the mounts belong to the one outside it
        privileges.gain_no_capabilities()
        privileges.no_new_privileges()
        call = sys.modules["redoma.jail.inner.call"]
        call.rehearse()
        line.send(_READY)
        fds = packets.receive_many(requests, *packets.receive(requests))
        if fds:
            request = Request(fds)
            orders = _confined(request, line, processes)
            call_orders = call.taken()
            if line.recv(_LONGEST) != _GO:
                os._exit(COULD_NOT_ENCLOSE)  # the first process has ended
            os.chdir(orders.directory)
            privileges.let_in_others()  # it is the command now
            code = call.perform(call_orders, _over)
    except (OSError, ValueError, KeyError) as error:
        os.write(2, f"redoma: {error}\n".encode(errors="surrogateescape"))
    finally:
        os._exit(code)


def _over() -> None:
    os.kill(_FIRST, first_process.OVER)


def _confined(request: Request, line: socket, processes: int) -> Orders:
    """Gives up everything but the line to the first process; how the enclosure was ordered."""
    # A process that moves itself waits for nobody; moving another takes milliseconds.
    for fd in request.doors:
        os.write(fd, b"0")
    calls.unshare(calls.CLONE_NEWCGROUP)  # now: the group it is in is all it knows of groups
    # Where memory runs out it is taken from the command, not from whoever reports its end.
    spent = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=processes)
    os.write(spent, _SPENT)
    orders = Orders(request.options)
    os.umask(request.umask)
    privileges.hold_no_capabilities()
    privileges.load_filter(request.contents(orders.numbers["--seccomp"]))
    for kind, soft, hard in request.limits:
        resource.setrlimit(kind, (soft, hard))
    os.environ.clear()
    os.environ.update(orders.env)
    gc.enable()
    return orders
