"""What became of a request: the outcome, what was used, and what was enforced."""

from __future__ import annotations

from enum import Enum

from redoma.model.errors import (
    ConfirmationNeeded,
    Declined,
    Denied,
    GuaranteeLost,
    LimitReached,
    OutputTooLarge,
    RunError,
    TimedOut,
)
from redoma.model.grant import Enforcement
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.call import Failure
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.grant import Grant
    from redoma.model.network import Connection


class Outcome(Enum):
    """How it ended; one answer, the most telling one."""

    __module__ = "redoma"

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"
    TOO_MANY_PROCESSES = "too-many-processes"
    DISK_FULL = "disk-full"
    CPU_TIME_SPENT = "cpu-time-spent"
    TOO_MANY_CONNECTIONS = "too-many-connections"
    GATE_LOST = "gate-lost"  # the way to the network was lost, and the run ended with it
    OUTPUT_TOO_LARGE = "output-too-large"
    CANCELLED = "cancelled"
    CHECKED = "checked"
    PREVIEWED = "previewed"  # it ran in an overlay, and what it changed waits for a person
    DENIED = "denied"
    DECLINED = "declined"

    @property
    def words(self) -> str:
        return self.value.replace("-", " ")


LIMIT_OUTCOMES = frozenset(
    {
        Outcome.OUT_OF_MEMORY,
        Outcome.TOO_MANY_PROCESSES,
        Outcome.DISK_FULL,
        Outcome.CPU_TIME_SPENT,
        Outcome.TOO_MANY_CONNECTIONS,
        Outcome.OUTPUT_TOO_LARGE,
    }
)


_SIGPIPE, _SIGSYS = 13, 31


class ResourcesUsed(Value):
    """What the whole tree of a run used, as far as the machine tells."""

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory: int = 0
    bytes_written: int = 0
    output_bytes: int = 0
    # Every file that was opened or executed, once; None where nobody asked for it.
    files_accessed: tuple[str, ...] | None = None


class Attempt(Value):
    """Something that a command tried and did not get, as whoever looked on saw it."""

    # `write` of a path, or `network` for an address and its port.
    kind: str
    what: str
    # As the command itself named it, which is what it would complain about.
    named: str = ""


class Exit(Value):
    """The end of a process tree, as the supervisor saw it."""

    outcome: Outcome
    code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    truncated: bool = False
    # Every limit that was met on the way, whether or not it ended the run.
    limits_reached: tuple[str, ...] = ()
    # What held each limit: ("memory", "cgroup v1").
    limited_by: tuple[tuple[str, str], ...] = ()
    used: ResourcesUsed = ResourcesUsed()
    notes: tuple[str, ...] = ()
    # Streams (1, 2) whose reader stopped reading while the command ran.
    unread: tuple[int, ...] = ()
    # What was asked of the network, where a gate stood in the way; None where there was none.
    network_calls: tuple[Connection, ...] | None = None
    # What it tried to write or to reach in vain, where someone looked on; bounded.
    refused: tuple[Attempt, ...] = ()
    # What was written to the channel for answers: bytes that nobody has looked at yet.
    answer: bytes = b""

    @property
    def cut_by(self) -> tuple[str, ...]:
        """The limits among those met that kept the command from something."""
        return tuple(name for name in self.limits_reached if name != "output")


class Quarantined(Value):
    """Something the command made where nobody but a person may; `kept` is its quarantine."""

    path: str
    why: str
    kept: str = ""


class Result(Value):
    """A request's whole story; a refused or failed command is a value, never an exception."""

    __module__ = "redoma"

    outcome: Outcome
    exit: Exit | None = None
    enforcement: Enforcement | None = None
    grant: Grant | None = None
    decision: Decision | None = None
    held_back: tuple[Quarantined, ...] = ()
    notes: tuple[str, ...] = ()
    # The name of this run in the audit log, and what it changed where its writes were held.
    run: str = ""
    changes: Changes | None = None
    # Whether the changes are in the workspace, and whether `redoma undo` takes them back.
    applied: bool = False
    undoable: bool = True
    # Who said no, where somebody was asked and did.
    declined_by: str = ""
    # Whether it was a dry run: asked for, or wanted by whoever was asked, or by their silence.
    dry_run: bool = False
    # What a Python call returned; or how it failed.
    value: object = None
    failure: Failure | None = None

    @property
    def ok(self) -> bool:
        """Whether the command ran to its own end, called that success, and all of it is real."""
        ended = self.outcome is Outcome.EXITED and self.exit is not None and self.exit.code == 0
        whole = not self.partly_refused and not self.limited
        return ended and self.failure is None and whole

    @property
    def limited(self) -> tuple[str, ...]:
        """The limits that any process of the tree met, so that what it wrote may be cut short.

        Output that was not kept is not among them: the command wrote all of it.
        """
        return self.exit.cut_by if self.exit is not None else ()

    @property
    def ended_by_itself(self) -> bool:
        """Whether it came to an end of its own, with any status: nothing cut short what it wrote.

        What Redoma ended (a limit, a timeout, a lost gate, a second Ctrl-C) did not, and neither
        did what the kernel ended for a call that it may not make.
        """
        return (
            self.outcome in (Outcome.EXITED, Outcome.SIGNALLED)
            and (self.exit is None or self.exit.signal != _SIGSYS)
            and self.failure is None
            and not self.limited
        )

    @property
    def may_apply(self) -> bool:
        """Whether it counts as a success; a reader that went is no failure."""
        if self.ok:
            return True
        ended = self.exit
        # `redoma run … | head`: most programs then end by SIGPIPE, others with a status of theirs.
        return (
            ended is not None
            and bool(ended.unread)
            and self.outcome in (Outcome.EXITED, Outcome.SIGNALLED)
            and ended.signal in (None, _SIGPIPE)
            and self.failure is None
            and not self.limited
        )

    @property
    def partly_refused(self) -> bool:
        """Whether the changes were applied without some that nobody but a person may make."""
        return self.applied and bool(self.held_back)

    @property
    def exit_code(self) -> int:
        """The status a shell would show: the command's own, 128 + signal, 124, or 126."""
        if self.outcome in (Outcome.DENIED, Outcome.DECLINED, Outcome.PREVIEWED):
            return 126
        if self.outcome is Outcome.TIMED_OUT:
            return 124
        if self.exit is None:
            return 0
        if self.exit.code is not None:
            # What was held back is told beside it: who needs the status needs the command's own.
            # But who reads only the status must not believe in what a limit cut short.
            return 126 if self.exit.code == 0 and self.limited else self.exit.code
        return 128 + (self.exit.signal or 9)

    @property
    def stdout(self) -> bytes:
        return self.exit.stdout if self.exit else b""

    @property
    def stderr(self) -> bytes:
        return self.exit.stderr if self.exit else b""

    @property
    def resources_used(self) -> ResourcesUsed:
        return self.exit.used if self.exit else ResourcesUsed()

    @property
    def files_accessed(self) -> tuple[str, ...] | None:
        """The files that were opened or executed, where that was traced."""
        return self.resources_used.files_accessed

    @property
    def network_calls(self) -> tuple[Connection, ...] | None:
        """What was asked of the network and what became of it, where a gate stood there."""
        return self.exit.network_calls if self.exit else None

    def raise_for_outcome(self) -> Result:
        """This result if the command succeeded; else the error that says how it ended."""
        if self.ok or self.outcome is Outcome.CHECKED:
            return self
        if self.outcome is Outcome.DENIED and self.decision is not None:
            raise Denied(self.decision)
        if self.outcome is Outcome.DECLINED:
            raise Declined("nobody approved this command")
        if self.outcome is Outcome.PREVIEWED and self.changes is not None:
            name = self.changes.id
            raise ConfirmationNeeded(
                "what the command changed waits for a person",
                question=name,
                hint=Message("redoma apply {name}, or redoma discard {name}", name=name),
            )
        if self.failure is not None:
            raise self.failure.error()
        if self.outcome is Outcome.TIMED_OUT:
            from redoma.model.remedies import Help, Remedy

            raise TimedOut("the command ran longer than it may", hint=Remedy(help=Help.TIME))
        if self.outcome is Outcome.OUTPUT_TOO_LARGE:
            raise OutputTooLarge("the command wrote more output than it may")
        if self.outcome in LIMIT_OUTCOMES:
            raise LimitReached(
                "the command ended because of a limit: {outcome}",
                outcome=Message(self.outcome.words),
            )
        if self.limited and self.outcome is Outcome.EXITED:
            met = ", ".join(name.replace("_", " ") for name in self.limited)
            raise LimitReached("a process met a limit: {met}", met=met)
        if self.outcome is Outcome.GATE_LOST:
            raise GuaranteeLost("the gate to the network was lost, and the run was ended")
        raise RunError("the command ended with status {status}", status=self.exit_code)
