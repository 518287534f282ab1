"""Starts the process of a launch, limits the first one inside, and then lets the command begin."""

from __future__ import annotations

import os
import select
import time
from _thread import allocate_lock
from contextlib import nullcontext, suppress
from functools import lru_cache

from redoma.base import signals
from redoma.model.errors import EngineFailed
from redoma.model.grant import Launch
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from redoma.jail.supervisor.file_trace import FileTrace
    from redoma.jail.supervisor.limiter import Limiter
    from redoma.jail.supervisor.run import Supervisor
    from redoma.jail.supervisor.streams import InputSource
    from redoma.model.network import Connection


_DUP = os.POSIX_SPAWN_DUP2
# Signals that Python or a shell may have set to be ignored; a command begins with none ignored.
_DEFAULTS = (1, 2, 3, 13, 15, 25)


def spawn(
    launch: Launch,
    stdio: tuple[int, int, int],
    limiter: Limiter,
    terminal: str = "",
    trace: FileTrace | None = None,
) -> int:
    """The process id of the started process.

    `posix_spawn` shares memory with us until the program starts, so its cost does not grow with
    our size; `fork` would copy the page tables of a large caller for every run.
    """
    if launch.starter is not None:
        return launch.starter(launch, stdio, limiter, terminal)
    targets = {number for _, number in launch.fds} | {0, 1, 2}
    spare: list[int] = []
    actions: list[tuple[Any, ...]] = []
    try:
        for source, number in (*zip(stdio, range(3), strict=True), *launch.fds):
            if terminal and number < 3:
                continue
            if source in targets and source != number:
                from fcntl import F_DUPFD_CLOEXEC, fcntl

                source = fcntl(source, F_DUPFD_CLOEXEC, max(targets) + 1)  # noqa: PLW2901
                spare.append(source)
            actions.append((_DUP, source, number))
        if terminal:
            # Opened by the leader of a new session, it becomes the session's own terminal.
            actions.insert(0, (os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0))
            actions[1:1] = [(_DUP, 0, 1), (_DUP, 0, 2)]
        actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in inherited() if fd not in targets]
        return _start(launch, actions, limiter, trace, new_session=bool(terminal))
    except OSError as error:
        raise EngineFailed(
            "cannot start {program}: {why}", program=launch.argv[0], why=error.strerror
        ) from error
    finally:
        for fd in spare:
            os.close(fd)


def inherited() -> list[int]:
    """Descriptors that our own parent left open for whatever we start.

    Attack: whoever started us may have left a socket or a directory open; inside, it would lead
    out again.
    """
    found = []
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if fd > 2 and os.get_inheritable(fd):
                found.append(fd)
        except OSError:
            continue  # the listing's own
    return found


def _start(
    launch: Launch,
    actions: list[tuple[Any, ...]],
    limiter: Limiter,
    trace: FileTrace | None,
    *,
    new_session: bool,
) -> int:
    if trace is not None:
        # Now: whoever starts it may not be able to read our own files.
        from redoma.jail.supervisor import file_trace

    def start() -> int:
        if trace is not None:
            return file_trace.start(launch, actions, trace, new_session=new_session)
        return os.posix_spawn(
            launch.argv[0],
            launch.argv,
            launch.env,
            file_actions=actions,
            setsid=new_session,
            setsigmask=(),
            setsigdef=_DEFAULTS,
        )

    begin = start if launch.inside is None else limiter.starting_inside(start)

    def whole() -> int:
        started = begin()
        if trace is not None:
            trace.listen()
        return started

    return whole() if launch.inside is None else launch.inside(whole)


_PATIENCE = 20_000
_KEY = b'"child-pid":'
_CAP_SYS_PTRACE = 19


def begin(run: Supervisor) -> tuple[int, int]:
    """The first process inside and its descriptor, (0, -1) for engines without a handshake."""
    handshake = run.launch.handshake
    if handshake is None:
        # It limits itself; only the control group is put on from here.
        run.limiter.enter(run.pid)
        return 0, -1
    made = run.launch.starter is not None
    # Whoever was made for this run is the first process, and limits itself.
    try:
        if run.launch.gate is not None:
            run.make_gate()
        pid = run.pid if made else _first_process(run, handshake.status)
    except EngineFailed:
        raise  # it ended by itself, and is reaped
    except BaseException:
        end_unseen(run, handshake.status)
        raise
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        raise _failed(run) from None
    try:
        _made_ready(run, pid, made=made)
        if run.trace is not None:
            run.trace.command_begins()
        os.write(handshake.go, b"g")
    except BaseException as error:
        # It waits for a word that will never come, and whoever started it may be gone before it.
        with suppress(ProcessLookupError):
            signals.send(descriptor, signals.SIGKILL)
        os.close(descriptor)
        if isinstance(error, (ProcessLookupError, BrokenPipeError)):
            raise _failed(run) from None  # it ended before the word came: it says why
        raise
    run.began = time.monotonic()  # how long others kept the audit log is not the command's time
    return pid, descriptor


def _made_ready(run: Supervisor, pid: int, *, made: bool) -> None:
    """Everything that has to be so before the command begins."""
    handshake = run.launch.handshake
    assert handshake is not None
    run.keep_mounts(pid)
    if not made:
        try:
            _apply(run, pid)
        except ProcessLookupError:
            raise
        except (OSError, ValueError) as error:
            said = Message("a limit could not be set: {error}", error=error)
            raise EngineFailed(said, hint="redoma doctor") from error
    if run.launch.gate is not None:
        if made:
            _first_process(run, handshake.status)  # now its network stands
        assert run.gate is not None
        run.gate.open(pid)
    run.wait_for_start()
    if run.limiter.watched:
        if made and run.launch.gate is None and not _sees_closed_processes():
            _first_process(run, handshake.status)  # now its root stands
        run.keep_root(pid)


@lru_cache(maxsize=1)
def _sees_closed_processes() -> bool:
    """Whether we may look into processes that let nobody look: a right that root may lack too."""
    with open("/proc/self/status") as file:
        held = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    return bool(held >> _CAP_SYS_PTRACE & 1)


def _apply(run: Supervisor, pid: int) -> None:
    try:
        run.limiter.apply(pid)
    except PermissionError:
        # A root without CAP_SYS_RESOURCE may not limit others; whoever started it may.
        if run.launch.inside is None:
            raise
        run.launch.inside(lambda: run.limiter.apply(pid))


def _first_process(run: Supervisor, fd: int) -> int:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    text = b""
    while poll.poll(_PATIENCE):
        chunk = os.read(fd, 4096)
        text += chunk
        pid = _pid_in(text)
        if pid:
            return pid
        if not chunk:
            break
    raise _failed(run)


def end_unseen(run: Supervisor, fd: int) -> None:
    """Ends a first process that nobody has looked at yet: it would wait for ever."""
    run.kill()
    pid = _pid_in(last_words(fd))
    if pid:
        with suppress(OSError):
            process = os.pidfd_open(pid)
            signals.send(process, signals.SIGKILL)
            os.close(process)


def _pid_in(text: bytes) -> int:
    """The number of the first process, as bubblewrap tells it; 0 where it is not told whole."""
    _, found, rest = text.partition(_KEY)
    digits = rest.lstrip()
    end = next((i for i, c in enumerate(digits) if not 48 <= c <= 57), -1)
    return int(digits[:end]) if found and end > 0 else 0


def _failed(run: Supervisor) -> EngineFailed:
    """What the engine said when it could not set up."""
    run.kill()
    run.reap()
    for output in run.outputs:
        output.rest()
    said = b" ".join(output.data for output in run.outputs).decode(errors="replace").strip()
    return EngineFailed(
        "the sandbox could not be set up: {why}", why=Message(said), hint="redoma doctor"
    )


def last_words(fd: int) -> bytes:
    """What the engine has said since; nothing more will come."""
    os.set_blocking(fd, False)
    data = b""
    with suppress(BlockingIOError):
        while chunk := os.read(fd, 4096):
            data += chunk
    return data


class Control:
    """Safe to use from any thread and from a signal handler."""

    __module__ = "redoma"

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._lock = allocate_lock()
        self._closed = False
        self.cancelled = False
        # Whether the command is gone, and a signal is meant for what we do with its changes.
        self.over = False
        self.signals: list[int] = []
        self.size: tuple[int, int] | None = None
        self.input: list[bytes] = []
        self.input_over = False
        # Who decides what is typed into the command's terminal; set before the run begins.
        self.typed: InputSource | None = None
        # Words each connection as it happens, for whoever watches; nobody is told without it.
        self.narrate: Callable[[Connection], bytes] | None = None
        # Whether both of the command's outputs are one stream, in the order in which it writes.
        self.merged = False
        # Told the sandbox's first process when the command begins; and, with its output read and
        # not yet handed on, that it has ended.
        self.began: Callable[[int], None] | None = None
        self.ended: Callable[[], None] | None = None
        # Gives the command a person's terminal while it runs, and no longer.
        self.attached: Callable[[Control], AbstractContextManager[None]] | None = None

    @property
    def fd(self) -> int:
        """Readable when there is something to do."""
        return self._read

    def cancel(self) -> None:
        """Ends the run and its whole tree."""
        self.cancelled = True
        self.wake()

    def signal(self, number: int) -> None:
        """Passes a signal on to the command."""
        self.signals.append(number)
        self.wake()

    def resize(self, rows: int, columns: int) -> None:
        """Tells the command's terminal its new size."""
        self.size = (rows, columns)
        self.wake()

    def write(self, data: bytes) -> None:
        """Adds to the command's standard input."""
        self.input.append(data)
        self.wake()

    def end_input(self) -> None:
        """Closes the command's standard input after what was written."""
        self.input_over = True
        self.wake()

    def lent(self) -> AbstractContextManager[None]:
        """The block in which a person's terminal is the command's."""
        return nullcontext() if self.attached is None else self.attached(self)

    def drain(self) -> None:
        """Takes the wake-ups out of the pipe."""
        os.read(self._read, 4096)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._read)
                os.close(self._write)

    def wake(self) -> None:
        """Has the supervisor look at everything anew."""
        with self._lock:
            if not self._closed:
                with suppress(BlockingIOError):  # it has been woken often enough
                    os.write(self._write, b"!")
