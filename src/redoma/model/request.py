"""What someone asks for: a workload, and how far along the path it is to go."""

from __future__ import annotations

from enum import Enum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

_PLAIN = dict.fromkeys(
    map(ord, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")
)
"""What no shell reads as anything but itself."""


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
        return " ".join(map(quoted, self.argv))


def quoted(word: str) -> str:
    """A word as a shell reads it, quoted where it has to be, as `shlex` would write it."""
    if word and word.isascii() and not word.translate(_PLAIN):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


class PythonCall(Value):
    """A Python function and its arguments, as bytes that only the sandbox makes objects of."""

    name: str  # module.qualname
    arguments: str  # as they are shown: shortened
    payload: bytes
    # What has to be read to run it: the interpreter, its libraries, the caller's own modules.
    places: tuple[str, ...] = ()
    # Where modules are looked for inside, in order.
    path: tuple[str, ...] = ()
    # At most so many items of a generator are collected; 0 where none is expected.
    collects: int = 0
    # The call as Python, where its name and arguments are a text that anybody may have written.
    source: str = ""

    @property
    def shown(self) -> str:
        return f"call {self.name}({self.arguments})"

    @property
    def entry(self) -> tuple[str, ...]:
        """The words that the harness inside is started with; and what it should have at hand."""
        return ("call", "cloudpickle") if b"cloudpickle" in self.payload else ("call",)


if TYPE_CHECKING:
    Workload: TypeAlias = ShellCommand | Program | PythonCall


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
