"""What keeps a Python call from its value; each says what happened and where."""

from __future__ import annotations

from redoma.model.errors import RedomaError, Refused, RunError, TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

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
    """A function or an argument cannot be sent into an enclosure; `where` names the part."""

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
