"""How a run will be done: which engine, under which grant, and the process that starts it."""

from __future__ import annotations

from redoma.model.access import Grant, Limits
from redoma.model.guarantee import Enforcement
from redoma.model.request import Request
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from redoma.model.network import Reach
    from redoma.model.secret import Secret

    # The launch, its three standard descriptors, its limits and its terminal's path: a process.
    Starter: TypeAlias = Callable[["Launch", tuple[int, int, int], Any, str], int]


class RunPlan(Value):
    """A request with the engine that will run it and what that engine will hold."""

    request: Request
    grant: Grant
    engine: str
    enforcement: Enforcement
    terminal: bool = False
    # What control groups hold for the tree as a whole: `memory`, `pids`, `cpu`.
    controllers: frozenset[str] = frozenset()
    # Whether it is noted which files the command opens.
    trace_files: bool = False
    # Whether somebody has to look after it where we are killed; not at a trial in a place of ours.
    journaled: bool = True
    # The values of the grant's secrets, in their order; empty where it gets none.
    secrets: tuple[Secret, ...] = ()


class Handshake(Value):
    """The engine's own channel: it names its first process, waits, and reports the end.

    Until `go` is written the command does not exist, so limits are on it before its first
    instruction.
    """

    status: int  # read end: JSON lines, `child-pid` first and `exit-code` last
    go: int  # write end


class Launch(Value):
    """One process to start, and nothing of the caller in it but what stands here."""

    argv: tuple[str, ...]
    env: dict[str, str]
    # Who makes the process, where it is not started as a program; it is the sandbox's first.
    starter: Starter | None = None
    cwd: str = ""
    # (our descriptor, its number in the child): every other descriptor is closed. Whoever starts
    # the process closes ours and empties the list.
    fds: list[tuple[int, int]]
    handshake: Handshake | None = None
    terminal: bool = False
    # A sandbox with its own process namespace ends with its first process.
    own_process_namespace: bool = True
    limits: Limits = Limits()
    # Directories inside whose files are in memory, in a file system without a size of its own.
    in_memory: tuple[str, ...] = ()
    # How much of that was used before the run, by whomever.
    in_memory_before: int = 0
    # The same with a size of its own: memory of the run, but nothing that it wrote.
    temporary: tuple[str, ...] = ()
    # Whether a layer on a disk is mounted: the kernel writes all of it out when it takes it away.
    over_disk: bool = False
    # Limits that the engine already holds, by name: the supervisor leaves these alone.
    held_by_engine: frozenset[str] = frozenset()
    # How to call something where the sandbox's mounts are; the start has to happen there.
    inside: Callable[[Callable[[], int]], int] | None = None
    # Bytes on the engine's standard error that mean it could not set up, not the command's words.
    complaint: str = ""
    trace_files: bool = False
    # How many bytes of answer are read from descriptor 3 of the child; 0 where it has none.
    answers: int = 0
    # What a process that is kept ready runs in itself, in the place of `argv`; empty: nothing.
    entry: tuple[str, ...] = ()
    # Whom a gate lets through; None where there is no gate.
    gate: Reach | None = None
    # Who signs certificates for this run, where its TLS is opened.
    authority: object | None = None
    # The secrets of the gate's credentials, in their order; they are never given to the child.
    secrets: tuple[Secret, ...] = ()
