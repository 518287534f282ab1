"""Starts a launch whose opened files are reported: by forking, since the filter comes before it."""

from __future__ import annotations

import os
import signal
import socket
import warnings
from struct import calcsize, pack, unpack

from redoma.jail.kernel import privileges
from redoma.jail.kernel.seccomp_notify import filter_of_calls
from redoma.model.errors import UsageError
from redoma.model.plan import Launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from redoma.jail.run.trace import Trace

_COULD_NOT = 125


def start(
    launch: Launch, actions: list[tuple[Any, ...]], trace: Trace, *, new_session: bool
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
            f"it cannot be told here which files a command opens: {said.decode() or 'it died'}",
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
