"""What every first process of a sandbox does: wait for its limits, start the command, collect."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_COULD_NOT = 1
_A_MOMENT = 2  # milliseconds
# By this a call says to us that it is over and all went well; no program uses it for anything.
OVER = signal.SIGRTMIN + 7
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_UP = 0x1
_FOR_THE_COMMAND = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGALRM,
)


def introduce(status: int, pid: int) -> None:
    """Says which process is the first."""
    os.write(status, b'{ "child-pid": %d }\n' % pid)


def wait_for_go(go: int) -> None:
    """Returns when our limits are on us."""
    if os.read(go, 1) != b"g":
        os._exit(_COULD_NOT)  # nobody is there to supervise


def leave_signals_to_the_command() -> None:
    """What is sent to the whole group is meant for the command; it begins with none ignored."""
    for number in _FOR_THE_COMMAND:
        signal.signal(number, signal.SIG_IGN)


def fork() -> int:
    """0 in the new process, its number in the old one."""
    return os.fork()


def children() -> list[int]:
    """The processes that are directly below this one now."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def start(argv: list[str], env: dict[str, str], last: Callable[[], None] | None = None) -> int:
    """The command's process; `last` is what it does to itself before it becomes the command."""
    child = os.fork()
    if child != 0:
        return child
    try:
        if last is not None:
            last()
        become(argv, env)
    finally:
        os._exit(_COULD_NOT)


def be_the_first_to_go() -> None:
    """Where memory runs out it is taken from the command, not from whoever reports its end."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


def become(argv: list[str], env: dict[str, str]) -> NoReturn:
    """Turns this process into the command, with a shell's status where that cannot be done."""
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        try:
            os.execve(argv[0], argv, env)  # noqa: S606
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script that does not say by whom it is read.
            os.execve("/bin/sh", ["/bin/sh", *argv], env)  # noqa: S606
    except FileNotFoundError:
        os._exit(127)
    except OSError:
        os._exit(126)


def alarm(*, for_call: bool = False) -> int:
    """A descriptor that is readable when a child has ended; or a call has said that it is over."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *((OVER,) if for_call else ())):
        signal.signal(number, lambda *_: None)
    return wake


def attend(
    child: int,
    go: int,
    wake: int = -1,
    supervisor: int = -1,
    later: Callable[[], None] | None = None,
) -> int:
    """The command's status, as a shell says it; collects every orphan on the way.

    `later` is done where the command is not over in a moment.

    Attack: the supervisor is killed in the middle of a run. Then the other end of `go` closes, and
    this process, with which the whole sandbox ends, does not stay a moment longer. A process
    that the supervisor forked may hold that end as well: where `supervisor` is known, its
    descriptor tells.
    """
    if wake < 0:
        wake = alarm()
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    poll.register(go, 0)
    if supervisor >= 0:
        poll.register(supervisor, select.POLLIN)
    while True:
        status = _collect(child)
        if status is not None:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        for fd, _ in poll.poll(None if later is None else _A_MOMENT):
            if fd != wake:
                return 128 + signal.SIGKILL
            if OVER in os.read(wake, 4096):
                return 0  # with us ends what is left of it: nobody need wait for that
        if later is not None:
            later()
            later = None


def _collect(child: int) -> int | None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 128 << 8
        if pid == child:
            return status
        if pid == 0:
            return None


def end(status: int, code: int) -> NoReturn:
    """Reports the command's status and is gone."""
    os.write(status, b'{ "exit-code": %d }\n' % code)
    os._exit(code)


def bring_up_loopback() -> None:
    """A new network namespace has a loopback that is down; where it is up nothing changes."""
    from redoma.base.cores import AF_INET, SOCK_DGRAM, socket

    with_name = struct.pack("16sH22x", b"lo", 0)
    handle = socket(AF_INET, SOCK_DGRAM)
    try:
        answer = fcntl.ioctl(handle.fileno(), _SIOCGIFFLAGS, with_name)
        flags = struct.unpack("16sH22x", answer)[1]
        if not flags & _UP:
            fcntl.ioctl(handle.fileno(), _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | _UP))
    finally:
        handle.close()
