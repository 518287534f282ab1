"""A Python call: what to run inside a sandbox, and how it can fail there."""

from __future__ import annotations

import builtins
from enum import Enum

from redoma.model.arguments import WrongType, many, named, number, shown, whole
from redoma.model.errors import LimitReached, RedomaError, Refused, RunError, TimedOut
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar

    from redoma.model.remedies import Remedy


class SandboxViolation(Refused):
    """A call touched what it was not given; `kind` is `read`, `write`, `network`, `subprocess`.

    `path` or `host` is what it touched, `constraint` what was against it.
    """

    __module__ = "redoma"

    code: ClassVar[str] = "sandbox-violation"

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        path: str = "",
        host: str = "",
        program: str = "",
        constraint: str = "",
        traceback_text: str = "",
        hint: str | Remedy = "",
    ) -> None:
        self.kind = kind
        self.path = path
        self.host = host
        self.program = program
        self.constraint = constraint
        self.traceback_text = traceback_text
        super().__init__(message, hint=hint)

    @property
    def what(self) -> str:
        """The path, the host or the program, whichever it was."""
        return self.path or self.host or self.program

    def details(self) -> dict[str, object]:
        return {"kind": self.kind, "what": self.what, "constraint": self.constraint}


class SandboxTimeout(TimedOut):
    """A call ran longer than it may, and everything that it had started was ended."""

    __module__ = "redoma"

    code = "sandbox-timeout"


class CallFailed(RunError):
    """A call ended with an exception that has no copy here, or without any answer.

    `type_name` is the exception's type where it was raised, `traceback_text` how it came about.
    """

    __module__ = "redoma"

    code = "call-failed"

    def __init__(
        self,
        message: str,
        *,
        type_name: str = "",
        traceback_text: str = "",
        cause_text: str = "",
        hint: str | Remedy = "",
    ) -> None:
        self.type_name = type_name
        self.traceback_text = traceback_text
        self.cause_text = cause_text
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"type": self.type_name, "traceback": self.traceback_text}


class NotSendable(RedomaError):
    """A function or an argument cannot be sent into a sandbox; `where` names the part."""

    __module__ = "redoma"

    code = "not-sendable"
    exit_status = 2

    def __init__(self, message: str, *, where: str = "", hint: str | Remedy = "") -> None:
        self.where = where
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"where": self.where}


class NotReturnable(RunError):
    """What a call returned has no form as data; `where` is the path to it, as `result["a"][3]`."""

    __module__ = "redoma"

    code = "not-returnable"

    def __init__(self, message: str, *, where: str = "", hint: str | Remedy = "") -> None:
        self.where = where
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"where": self.where}


LARGEST = 64 << 20
"""Bytes that an answer may have."""
DEEPEST = 100
"""Containers inside one another that an answer may have."""


class Call:
    """A function with its arguments, and what is expected to come back.

    `collects` is how many items of a generator are taken at most (0: it returns no generator);
    `returns` are the dataclasses and enums that its result may hold.
    """

    __module__ = "redoma"

    __slots__ = ("args", "collects", "kwargs", "returns", "target", "timeout")

    def __init__(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        collects: int = 0,
        returns: Sequence[type] = (),
    ) -> None:
        if not callable(target):
            raise WrongType(
                Message("target: a function is needed, not {target}", target=shown(target))
            )
        self.target = target
        self.args = many("args", args, lambda _, given: given, "arguments")
        self.kwargs = named("kwargs", kwargs or {}, lambda _, given: given)
        self.timeout = None if timeout is None else number("timeout", timeout)
        self.collects = whole("collects", collects)
        self.returns = many("returns", returns, _kind, "types")


def _kind(name: str, given: object) -> type:
    if not isinstance(given, type):
        raise WrongType(
            Message(
                "{name}: a dataclass or an enum is needed, not {given}",
                name=name,
                given=shown(given),
            )
        )
    return given


class Failing(Enum):
    """How a call failed."""

    RAISED = "raised"
    VIOLATION = "violation"
    NOT_RETURNABLE = "not-returnable"
    TOO_MANY_ITEMS = "too-many-items"
    NOT_LOADABLE = "not-loadable"
    NO_ANSWER = "no-answer"
    TIMED_OUT = "timed-out"


class Failure(Value):
    """How a call failed, as data; nothing in it was ever an object of the sandbox."""

    how: Failing
    message: str  # fit for a terminal: whoever makes a failure sees to that
    # The exception's type, its arguments where all of them are data, and how it came about.
    type_name: str = ""
    args: tuple[object, ...] | None = None
    filename: str = ""
    traceback: str = ""
    cause: str = ""
    # Of a violation: what was touched, and what was against it. Of a result: where in it.
    kind: str = ""
    what: str = ""
    constraint: str = ""
    where: str = ""
    hint: str | Remedy = ""

    def error(self) -> Exception:
        """The exception that says this; its message is fit for a terminal, as ours is."""
        message = self.message
        if self.how is Failing.VIOLATION:
            return SandboxViolation(
                message,
                kind=self.kind,
                path=self.what if self.kind in ("read", "write") else "",
                host=self.what if self.kind == "network" else "",
                program=self.what if self.kind == "subprocess" else "",
                constraint=self.constraint,
                traceback_text=self.traceback,
                hint=self.hint,
            )
        if self.how is Failing.TIMED_OUT:
            return SandboxTimeout(message, hint=self.hint)
        if self.how is Failing.NOT_RETURNABLE:
            return NotReturnable(message, where=self.where, hint=self.hint)
        if self.how is Failing.NOT_LOADABLE:
            return NotSendable(message, where=self.where, hint=self.hint)
        if self.how is Failing.TOO_MANY_ITEMS:
            return LimitReached(message, hint=self.hint)
        failed = CallFailed(
            message,
            type_name=self.type_name,
            traceback_text=self.traceback,
            cause_text=self.cause,
            hint=self.hint,
        )
        copy = self._copy()
        if copy is None:
            return failed
        copy.__cause__ = failed
        return copy

    def _copy(self) -> Exception | None:
        """The same built-in exception with the same arguments, where it is one.

        Attack: SystemExit and its like would end the caller; so only what is an `Exception`, and
        only a class that this interpreter itself knows by that name.
        """
        kind = getattr(builtins, self.type_name, None)
        if not isinstance(kind, type) or not issubclass(kind, Exception) or self.args is None:
            return None
        if issubclass(kind, StopIteration | StopAsyncIteration):
            return None  # whatever loop of the caller's is around it would end as if it were done
        try:
            made = kind(*self.args)
        except Exception:  # arguments that are not this exception's
            return None
        if self.filename and isinstance(made, OSError):
            made.filename = self.filename
        return made
