"""What someone asks for and how far it is to go; what a person is asked before, and may answer."""

from __future__ import annotations

from enum import Enum

from redoma.model.decision import Risk
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeAlias

    from redoma.model.script import Span

    class Answerer(Protocol):
        """Someone, or something, that can be asked."""

        def ask(self, question: Question) -> Answer | None:
            """The answer, or None where there is nobody to give one; never later than allowed."""

    Workload: TypeAlias = "ShellCommand | Program | PythonCall"

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


class Choice(Enum):
    """The four answers there are."""

    __module__ = "redoma"

    APPROVE = "approve"
    DENY = "deny"
    DRY_RUN = "dry_run"
    MODIFY = "modify"


class Remember(Enum):
    """How long an approval lasts; by itself it is for one run."""

    ONCE = "once"
    SESSION = "session"
    EXACT = "exact"  # always, for this exact command
    PREFIX = "prefix"  # always, for commands that begin with the same words


class Impact(Value):
    """What the command would touch, as far as is known."""

    files_affected: tuple[str, ...] = ()
    reversible: bool = False
    network_access: bool = False
    estimated_scope: str = ""
    # Whether the network that it reaches for is closed to this run.
    network_closed: bool = False


class Context(Value):
    """Where the request comes from."""

    triggered_by: str = ""
    workflow_phase: str = ""
    previous_commands: tuple[str, ...] = ()


class Question(Value):
    """One command that waits for a person; the digest says exactly what would run, and how."""

    __module__ = "redoma"

    id: str
    # Of the workload, the place, the grant and the policy: an answer holds for nothing else.
    digest: str
    command: str
    risk: Risk
    safety_level: str
    because: tuple[str, ...] = ()
    # The parts of the command that made it ask, as (start, end).
    spans: tuple[Span, ...] = ()
    alternative: str = ""
    impact: Impact = Impact()
    context: Context = Context()
    workspace: str = ""
    session: str = ""
    # The command as it was understood, for approvals that last: one argv for each simple command;
    # empty where it is not plain enough to be remembered.
    argvs: tuple[tuple[str, ...], ...] = ()
    joins: tuple[str, ...] = ()  # what stands between them: `&&`, `;`, `|`, `||`
    # It reads what nobody has seen: an approval is for this input alone.
    input_unknown: bool = False
    # What else a lasting approval is bound to: the place, what the run may touch (a digest of the
    # grant without its limits), and the rules that found something.
    cwd: str = ""
    grant: str = ""
    rules: tuple[str, ...] = ()
    asked_at: str = ""  # ISO 8601, UTC
    timeout_seconds: float = 60.0
    default_action: Choice = Choice.DENY
    policy: str = ""


class Answer(Value):
    """What was said, by whom, and about exactly what."""

    __module__ = "redoma"

    question: str
    digest: str
    choice: Choice
    approved_by: str = ""
    at: str = ""
    modified_command: str = ""
    notes: str = ""
    remember: Remember = Remember.ONCE

    def approves(self, question: Question) -> bool:
        """Whether this lets exactly that question's command run."""
        return (
            self.choice is Choice.APPROVE
            and self.question == question.id
            and self.digest == question.digest
        )
