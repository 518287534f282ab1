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

from redoma.jail.inner import packets
from redoma.jail.inner.orders import Orders
from redoma.jail.inner.request import Request
from redoma.jail.kernel import calls, privileges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import NoReturn

COULD_NOT_ENCLOSE = 125
_DEFAULTS = [n for n in range(1, 32) if n not in (signal.SIGKILL, signal.SIGSTOP)]
_SPENT = b"500"


class Entrant:
    """Seen from the first process: who it is, and how it is told to begin."""

    def __init__(self, requests: socket, processes: int) -> None:
        """`requests` is where it is asked; `processes` is the new root's own /proc."""
        waits, self._go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            _live(requests, waits, processes)
        os.close(waits)
        requests.close()

    def begin(self) -> None:
        """From here on it is the command."""
        os.write(self._go, b"g")
        os.close(self._go)


def _live(requests: socket, waits: int, processes: int) -> NoReturn:
    code = COULD_NOT_ENCLOSE
    try:
        for number in _DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        call = sys.modules["redoma.jail.inner.call"]
        call.rehearse()
        fds = packets.receive_many(requests)
        if fds:
            env = _confined(Request(fds), waits, processes)
            os.closerange(packets.FIRST_OWN, 1 << 20)
            os.environ.clear()
            os.environ.update(env)
            gc.enable()
            code = call.main(())
    except (OSError, ValueError, KeyError) as error:
        os.write(2, f"redoma: {error}\n".encode(errors="surrogateescape"))
    finally:
        os._exit(code)


def _confined(request: Request, waits: int, processes: int) -> dict[str, str]:
    """Gives up everything, and waits until it may begin; what its environment will be."""
    # A process that moves itself waits for nobody; moving another takes milliseconds.
    for fd in request.doors:
        os.write(fd, b"0")
    calls.unshare(calls.CLONE_NEWCGROUP)  # now: the group it is in is all it knows of groups
    # Where memory runs out it is taken from the command, not from whoever reports its end.
    spent = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=processes)
    os.write(spent, _SPENT)
    orders = Orders(request.options)
    os.umask(request.umask)
    privileges.enter_user_namespace(processes)  # the mounts belong to the one outside it
    privileges.drop_capabilities()
    privileges.no_new_privileges()
    privileges.load_filter(request.contents(orders.numbers["--seccomp"]))
    for kind, soft, hard in request.limits:
        resource.setrlimit(kind, (soft, hard))
    if os.read(waits, 1) != b"g":
        os._exit(COULD_NOT_ENCLOSE)  # the first process has ended
    os.chdir(orders.directory)
    privileges.let_in_others()  # it is the command now
    return orders.env
