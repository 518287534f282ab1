"""Learns a sandbox's first process, limits it, and only then lets the command begin."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from functools import lru_cache

from redoma.base import signals
from redoma.model.errors import EngineFailed
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.supervisor.run import Supervisor

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
        run.open_gate(pid)
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
