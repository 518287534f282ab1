"""The forkserver seen from outside: a client starts it once, and asks it for one sandbox a run.

While nothing runs, a sandbox stands ready for each of the two kinds of run that came last, since
the next is usually of the same kind. It is used once, like any other. Where runs of a kind follow
each other faster than the forkserver makes sandboxes, two stand ready for it.
"""

from __future__ import annotations

import os
import select
import time
from _thread import allocate_lock
from contextlib import suppress
from struct import pack

from redoma.base import signals
from redoma.base.cores import AF_UNIX, SO_RCVTIMEO, SOCK_SEQPACKET, SOL_SOCKET, socket, socketpair
from redoma.jail.forkserver import messages
from redoma.jail.supervisor.start import inherited
from redoma.model.errors import EngineFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # How to fork a sandbox, and the words of what it makes before it is asked for.
    SandboxKind = tuple[bytes, bytes]

_PATIENCE = 20
_MOST_READY = 3
_QUICK = 0.03  # seconds within which a sandbox may not be ready yet


class ForkserverGone(Exception):
    """Whoever makes processes has ended; nothing was started."""


class WaitingSandbox:
    """A process in a sandbox of its own that waits for one request."""

    def __init__(
        self, kind: SandboxKind, pid: int, requests: list[socket], maker: ForkserverClient
    ) -> None:
        """`requests`: where each process in it is asked that takes part in the start."""
        self.kind = kind
        self.pid = pid
        self.era = -1
        self._maker = maker
        self._requests = requests

    def sees_current_mounts(self) -> bool:
        """Whether it still sees everything as it is mounted now."""
        return self._maker.era_now() == self.era

    def mount_ahead(self, before: bytes) -> bool:
        """Has it mount the first of its root before it is asked; False where it has ended."""
        file = _file(before)
        try:
            return self._sent(lambda: messages.send(self._requests[0], messages.AHEAD, [file]))
        finally:
            os.close(file)

    def ask(self, fds: list[int]) -> bool:
        """Gives it its one request; False where it has ended, and nothing was started.

        To be closed later: the kernel looks for lost descriptors when a socket is closed whose
        last message has not been read.
        """

        def ask_each() -> None:
            for one in self._requests:
                messages.send_many(one, fds)

        return self._sent(ask_each)

    def _sent(self, send: Callable[[], None]) -> bool:
        try:
            send()
        except BrokenPipeError:
            self.discard()
            return False
        except OSError as error:
            self.discard()
            raise EngineFailed(
                "the sandbox took no request: {why}", why=error.strerror, hint="try again"
            ) from error
        return True

    def discard(self) -> None:
        """Nobody will ask it."""
        self.close()
        _end(self.pid)

    def close(self) -> None:
        """It was asked, and will not be again."""
        for one in self._requests:
            one.close()


class ForkserverClient:
    """One process that stays; safe to use from any thread."""

    def __init__(
        self,
        argv: tuple[str, ...],
        env: dict[str, str],
        inside: Callable[[Callable[[], int]], int] | None,
        mounts: int,
    ) -> None:
        """`mounts` tells by a descriptor's readiness that what is mounted there has changed."""
        self._owner = os.getpid()
        self._lock = allocate_lock()
        # In the order in which they were ordered, and in which they come.
        self._ordered: list[SandboxKind] = []
        self._ready: list[WaitingSandbox] = []
        # The kind of which the last was asked for when it can hardly have been made.
        self._pressed: SandboxKind | None = None
        self._last_order = 0.0
        # How often something was mounted or unmounted, as far as anyone looked.
        self._era = 0
        self._stopped = False
        self._mounts = mounts
        self._changes = select.poll()
        self._changes.register(mounts, select.POLLPRI)
        self._changes.poll(0)
        self._control, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        self._control.setsockopt(SOL_SOCKET, SO_RCVTIMEO, pack("ll", _PATIENCE, 0))
        host = os.pidfd_open(os.getpid())
        nothing = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]
        # Above what they are put to, so that neither is overwritten before it is.
        high = [_above(theirs.fileno()), _above(host)]
        actions = [
            *nothing,
            (os.POSIX_SPAWN_DUP2, high[0], messages.CONTROL),
            (os.POSIX_SPAWN_DUP2, high[1], messages.HOST),
            *((os.POSIX_SPAWN_CLOSE, fd) for fd in inherited() if fd > messages.HOST),
        ]

        def start() -> int:
            return os.posix_spawn(
                argv[0], argv, env, file_actions=actions, setsigmask=(), setsigdef=range(1, 32)
            )

        try:
            self.pid = inside(start) if inside is not None else start()
        except OSError as error:
            self._control.close()
            raise EngineFailed(
                "cannot start {program}: {why}", program=argv[0], why=error.strerror
            ) from error
        finally:
            theirs.close()
            for fd in (host, *high):
                os.close(fd)

    @property
    def ours(self) -> bool:
        """Whether this process started it: a forked child has to have its own."""
        return self._owner == os.getpid()

    def take(self, kind: SandboxKind) -> WaitingSandbox:
        """A sandbox of this kind, made now or standing ready."""
        with self._lock:
            self._look_at_mounts()
            quick = time.monotonic() - self._last_order < _QUICK
            self._pressed = kind if quick and kind in self._waiting() else None
            for ready in self._ready:
                if ready.kind == kind:
                    self._ready.remove(ready)
                    ready.era = self._era
                    return ready
            if kind not in self._ordered:
                self._order(kind)
            while (made := self._next()).kind != kind:
                self._ready.append(made)
            made.era = self._era
            return made

    def era_now(self) -> int:
        """A number that is another one when something was mounted or unmounted since."""
        with self._lock:
            self._look_at_mounts()
            return self._era

    def _look_at_mounts(self) -> None:
        """Attack: a mount made since one was forked is not there.

        The command would see, and write, what lies below it.
        """
        if self._changes.poll(0):
            self._era += 1
            while self._waiting():
                self._oldest().discard()

    def make_ready(self, kind: SandboxKind) -> None:
        """Has one made beside the work, for whoever comes next."""
        with self._lock, suppress(ForkserverGone, EngineFailed):
            wanted = 2 if kind == self._pressed else 1
            for _ in range(wanted - self._waiting().count(kind)):
                while len(self._waiting()) >= _MOST_READY:
                    self._oldest().discard()
                self._order(kind, messages.LATER)

    def close(self) -> None:
        """Ends it, and what stands ready; runs that are going on go on."""
        with self._lock:
            with suppress(ForkserverGone, EngineFailed):
                while self._waiting():
                    self._oldest().discard()
            self._control.close()
            os.close(self._mounts)
            self._stop()

    def _stop(self) -> None:
        """Once: its number may be somebody else's as soon as it was collected."""
        if not self._stopped:
            self._stopped = True
            _end(self.pid)

    def _order(self, kind: SandboxKind, when: bytes = b"") -> None:
        asked, base = kind
        file = _file(base)
        try:
            messages.send(self._control, when + asked, [file])
        except OSError as error:
            raise ForkserverGone from error
        finally:
            os.close(file)
        self._ordered.append(kind)
        self._last_order = time.monotonic()

    def _waiting(self) -> list[SandboxKind]:
        """The kinds that stand ready or will."""
        return [*(ready.kind for ready in self._ready), *self._ordered]

    def _oldest(self) -> WaitingSandbox:
        return self._ready.pop(0) if self._ready else self._next()

    def _next(self) -> WaitingSandbox:
        """What was ordered first; it waits for it."""
        kind = self._ordered.pop(0)
        try:
            said, fds = messages.receive(self._control)
        except OSError as error:
            # Whoever has not answered by now could answer later, and something else then.
            self._stop()
            raise ForkserverGone from error
        if not said:
            raise ForkserverGone
        if not fds and said[:1] != b"!":
            # The kernel gives no descriptors to whoever has as many as they may have.
            _end(int(said))
            raise EngineFailed(
                "no sandbox could be made: too many files are open",
                hint="close some, or ulimit -n",
            )
        if not fds:
            why = said[1:].decode(errors="replace")
            raise EngineFailed("no sandbox could be made: {why}", why=why, hint="redoma doctor")
        return WaitingSandbox(kind, int(said), [socket(fileno=fd) for fd in fds], self)


def fork_order(namespaces: int, entry: tuple[str, ...]) -> bytes:
    """How to fork a sandbox: into which namespaces, and what sort of call will go on in it."""
    sorts = (messages.COMMAND, messages.ENTRY, messages.BY_VALUE)
    return sorts[min(len(entry), 2)] + b"%d" % namespaces


def _file(data: bytes) -> int:
    """A file in memory that holds this."""
    file = os.memfd_create("redoma")
    os.write(file, data)
    return file


def _above(fd: int) -> int:
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    return fcntl(fd, F_DUPFD_CLOEXEC, messages.HOST + 1)


def _end(pid: int) -> None:
    """Nothing of a child of ours is left; it has nothing to do any more."""
    with suppress(OSError):
        os.kill(pid, signals.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
