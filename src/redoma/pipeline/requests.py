"""Makes requests: a shell command or a program, by whom, and in which session."""

from __future__ import annotations

import os

from redoma.base.identity import short_id
from redoma.model import arguments
from redoma.model.arguments import WrongType, shown
from redoma.model.errors import UsageError
from redoma.model.message import Message
from redoma.model.request import Mode, Program, Request, ShellCommand
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from redoma.model.request import Workload

_BASH = "/bin/bash"


class Caller(Value):
    """Who asks, in which session, and in which phase of a workflow; empty for the usual.

    `name` is the user of this process by default (`REDOMA_CALLER` says another), `session` its
    login session (`REDOMA_SESSION`).

    >>> import redoma
    >>> redoma.Caller(name="my-agent", session="42", phase="release").name
    'my-agent'
    """

    __module__ = "redoma"

    name: str = ""
    session: str = ""
    phase: str = ""
    # The run of a plan, and its step; a plan says them itself.
    plan: str = ""
    step: str = ""

    def request(self, workload: Workload, **more: Any) -> Request:
        """A request of this caller, with a name of its own."""
        return Request(
            **{
                "workload": workload,
                "id": short_id(),
                "caller": self.name or this_caller(),
                "session": self.session or this_session(),
                "phase": self.phase,
                "plan": self.plan,
                "step": self.step,
                **more,
            }
        )


def request_for(
    command: str | Sequence[str],
    cwd: str = "",
    mode: Mode = Mode.RUN,
    caller: Caller | None = None,
    *,
    stdin: bytes | int | None = b"",
) -> Request:
    """The request for a shell command or a program."""
    words = (command,) if isinstance(command, str) else _words(command)
    cwd = arguments.path("cwd", cwd)
    if not (stdin is None or isinstance(stdin, bytes) or type(stdin) is int):
        raise WrongType(
            Message("stdin: bytes or a descriptor are needed, not {stdin}", stdin=shown(stdin))
        )
    if not words or not words[0]:
        raise UsageError("there is no command to run")
    if any("\0" in word for word in words):
        raise UsageError("a command cannot contain a NUL byte")
    return (caller or Caller()).request(
        shell_command(command) if isinstance(command, str) else Program(argv=words),
        cwd=cwd,
        stdin=stdin if isinstance(stdin, bytes) else b"",
        mode=mode,
    )


def _words(command: object) -> tuple[str, ...]:
    """The words of a program; a NUL byte in one of them is said by whoever looks at all of them."""

    def word(name: str, given: object) -> str:
        if not isinstance(given, str):
            raise WrongType(
                Message("{name}: each word is a text, not {given}", name=name, given=shown(given))
            )
        return given

    return arguments.many("command", command, word, "words, or one text,")


def shell_command(text: str) -> ShellCommand:
    """A line for the shell that reads commands here."""
    return ShellCommand(text=text, shell=_BASH if os.path.exists(_BASH) else "/bin/sh")


def this_caller() -> str:
    """Who calls, where nobody said: `REDOMA_CALLER`, or the user of this process."""
    return os.environ.get("REDOMA_CALLER", "")[:200] or f"uid:{os.getuid()}"


def this_session() -> str:
    """The session of this process: `REDOMA_SESSION`, or the login session it belongs to."""
    named = os.environ.get("REDOMA_SESSION", "")[:200]
    return named or f"terminal:{os.getsid(0)}"
