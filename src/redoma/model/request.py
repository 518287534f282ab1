"""What someone asks for: a workload, and how far along the path it is to go."""

from __future__ import annotations

from enum import Enum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias


class Mode(Enum):
    """How far along the path a request goes."""

    CHECK = "check"
    PREVIEW = "preview"
    RUN = "run"


class ShellCommand(Value):
    """A line for a shell."""

    text: str
    shell: str = "/bin/sh"

    @property
    def shown(self) -> str:
        return self.text


class Program(Value):
    """A program and its arguments; no shell reads them."""

    argv: tuple[str, ...]

    @property
    def shown(self) -> str:
        from shlex import join

        return join(self.argv)


if TYPE_CHECKING:
    Workload: TypeAlias = ShellCommand | Program


class Request(Value):
    """One thing to do, where, and with what on its standard input."""

    workload: Workload
    id: str = ""
    mode: Mode = Mode.RUN
    cwd: str = ""
    stdin: bytes = b""
    # Who asks (an agent, a person), in which session, in which phase of a workflow.
    caller: str = ""
    session: str = ""
    phase: str = ""
    # The run of a plan and the step that this is, where it belongs to one.
    plan: str = ""
    step: str = ""
    # Held changes that a preview goes on from, by their name.
    onto: str = ""
