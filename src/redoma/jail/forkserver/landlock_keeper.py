"""Keeps a command that has no namespaces: confines it, ends with it, and kills all it started.

Three processes. The keeper outlives everything and kills what is left; it and all below it can
signal only each other, so that one call ends them all at once. The first process carries the
limits and collects orphans. The command gives up everything else before it begins, the right to
signal the two included. For a probe it tries what has to be refused, and prints what was not.
"""

from __future__ import annotations

import os
import resource
import select
import shutil
import signal
from contextlib import suppress

from redoma.base.cores import AF_INET, AF_UNIX, SOCK_DGRAM, SOCK_STREAM, socket
from redoma.jail.forkserver import first_process
from redoma.jail.kernel import landlock, privileges
from redoma.model.grant import Syscalls
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

COULD_NOT_CONFINE = 125


class KeeperOrders:
    """What to allow, as (key, value) pairs one after the other."""

    def __init__(self, words: list[str]) -> None:
        self._pairs = list(zip(words[::2], words[1::2], strict=True))

    def all(self, key: str) -> list[str]:
        return [value for name, value in self._pairs if name == key]

    def one(self, key: str) -> str:
        return next((value for name, value in self._pairs if name == key), "")


def main(arguments: list[str]) -> None:
    """`FD -- COMMAND…`; never returns."""
    code = COULD_NOT_CONFINE
    try:
        with open(int(arguments[0]), "rb") as file:
            words = file.read().decode(errors="surrogateescape")
        orders = KeeperOrders(words.removesuffix("\0").split("\0"))
        code = _keep(orders, arguments[arguments.index("--") + 1 :])
    except (OSError, ValueError) as error:
        os.write(2, f"redoma: {error}\n".encode(errors="surrogateescape"))
    os._exit(code)


def _keep(orders: KeeperOrders, command: list[str]) -> int:
    status, go = int(orders.one("status")), int(orders.one("go"))
    for fd in (status, go):
        os.set_inheritable(fd, False)  # noqa: FBT003
    version = landlock.abi()
    contained = landlock.covers_signals(version)
    privileges.no_new_privileges()
    privileges.drop_capabilities()
    privileges.collect_orphans()
    if contained:
        _contain(version)
    first_process.leave_signals_to_the_command()
    first = first_process.fork()
    if first == 0:
        _first(orders, command, status, go)
    privileges.keep_out_others()
    os.close(status)
    for fd in (0, 1, 2):
        os.close(fd)  # else the end of the command's output would not be seen
    code = first_process.attend(first, go)
    _end_all(contained=contained)
    shutil.rmtree(orders.one("temporary"), ignore_errors=True)
    return code


def _first(orders: KeeperOrders, command: list[str], status: int, go: int) -> None:
    try:
        privileges.collect_orphans()
        if not orders.one("terminal"):
            os.setsid()  # Attack: TIOCSTI into the caller's terminal
        os.chdir(orders.one("cwd"))
        env = dict(pair.split("=", 1) for pair in orders.all("env"))
        failed, fail = os.pipe()
        first_process.introduce(status, os.getpid())
        first_process.wait_for_go(go)
        child = first_process.start(command, env, lambda: _confine(orders, fail))
        os.close(fail)
        privileges.keep_out_others()
        code = first_process.attend(child, go)
        poll = select.poll()
        poll.register(failed, select.POLLIN)
        if any(event & select.POLLIN for _, event in poll.poll(0)):
            os._exit(COULD_NOT_CONFINE)  # without a word on how the command ended: it never began
        first_process.end(status, code)
    except (OSError, ValueError) as error:
        os.write(2, f"redoma: {error}\n".encode(errors="surrogateescape"))
    os._exit(COULD_NOT_CONFINE)


def _confine(orders: KeeperOrders, fail: int) -> None:
    network = orders.one("network") == "open"
    try:
        first_process.be_the_first_to_go()
        if orders.one("processes"):
            _limit_processes(int(orders.one("processes")))
        landlock.restrict(
            readable=[*orders.all("readable"), "/proc/self"],
            writable=orders.all("writable"),
            network=network,
            version=landlock.abi(),
        )
        filters = landlock.filters(
            Syscalls(orders.one("syscalls")),
            network=network,
            memory_counted=orders.one("memory") == "counted",
        )
        for code in filters:
            privileges.load_filter(code)
    except (OSError, ValueError) as error:
        os.write(
            2, Message("redoma: could not confine the command: {error}\n", error=error).encode()
        )
        os.write(fail, b"!")
        raise
    if orders.one("try"):
        attempt(orders.one("try"))


def _limit_processes(most: int) -> None:
    """So many more than this user runs now: without a namespace the kernel counts them together."""
    now, uid = 0, os.geteuid()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == uid:
                    now += len(os.listdir(f"/proc/{name}/task"))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    wanted = now + most - 1  # the command is already one of them
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (wanted, wanted))


def _contain(version: int) -> None:
    """From here on only our own kin can be signalled; that is tried on a process outside of it.

    Without it, ending everything that we can signal would end everything of this user.
    """
    wait, release = os.pipe()
    outsider = first_process.fork()
    if outsider == 0:
        os.close(release)
        os.read(wait, 1)
        os._exit(0)
    try:
        landlock.contain_signals(version)
        with suppress(PermissionError):
            os.kill(outsider, 0)
            raise OSError("Landlock does not keep signals inside here")
    finally:
        os.close(wait)
        os.close(release)
        os.waitpid(outsider, 0)


def _end_all(*, contained: bool) -> None:
    """Ends and collects every process below, however often it forks."""
    while True:
        if contained:
            with suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        else:
            for pid in first_process.children():
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def attempt(outside: str) -> None:
    """`outside` is a directory with a file `read-me` that the confined process may not touch."""
    tries: dict[str, Callable[[], object]] = {
        "wrote": lambda: os.close(os.open(f"{outside}/made", os.O_CREAT | os.O_WRONLY)),
        "read": lambda: os.close(os.open(f"{outside}/read-me", os.O_RDONLY)),
        "listed": lambda: os.listdir(outside),
        "attributes": lambda: os.chmod(f"{outside}/read-me", 0o640),
        "times": lambda: os.utime(f"{outside}/read-me"),
        "network": lambda: socket(AF_INET, SOCK_STREAM).close(),
        "datagrams": lambda: socket(AF_INET, SOCK_DGRAM).close(),
        "sockets": lambda: socket(AF_UNIX, SOCK_STREAM).close(),
        "signalled": lambda: os.kill(os.getppid(), 0),
    }
    for name, attack in tries.items():
        try:
            attack()
        except OSError:
            continue
        os.write(1, f"{name}\n".encode())
    os.write(1, b"done\n")
