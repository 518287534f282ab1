"""Starts the one process of a launch, with nothing of ours in it but what the launch names."""

from __future__ import annotations

import os

from redoma.model.errors import EngineFailed
from redoma.model.grant import Launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.jail.supervisor.file_trace import FileTrace
    from redoma.jail.supervisor.limiter import Limiter

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
        raise EngineFailed(f"cannot start {launch.argv[0]}: {error.strerror}") from error
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
