"""Whether a session's container was lost, or its shell was left: only a loss is made good."""

from __future__ import annotations

from redoma.model.errors import EngineFailed, Refused
from redoma.model.message import Message
from redoma.model.result import Outcome, Result

ENGINE = "container"
_SIGKILL = 9
# Back from whatever a program that is gone had set.
_CALM = b"\x1b[!p\x1b[0m\x1b[?1049l\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\r\n"


def loss(engine: str, end: Result | Exception) -> str:
    """How it was lost, in words; nothing for a shell that ended itself, or that no container held.

    A shell that somebody kills with SIGKILL is told by nothing from a container that was killed.
    """
    if isinstance(end, EngineFailed) and engine == ENGINE:
        return Message("the engine lost it: {why}", why=str(end))
    if isinstance(end, Exception) or end.exit is None:
        return ""
    held_by = end.enforcement.engine if end.enforcement is not None else engine
    if held_by != ENGINE:
        return ""
    if end.outcome is Outcome.OUT_OF_MEMORY:
        return Message("its memory ran out")
    if end.outcome is Outcome.SIGNALLED and end.exit.signal == _SIGKILL:
        return Message("it was ended by SIGKILL")
    return ""


def failure(end: Result | Exception) -> Exception | None:
    """Why nothing ran, where it did not; as it is raised."""
    if isinstance(end, Exception):
        return end
    if end.outcome in (Outcome.DENIED, Outcome.DECLINED):
        try:
            end.raise_for_outcome()
        except Refused as error:
            return error
    return None


def changes_of(end: Result | Exception) -> str:
    """The name under which what a run changed waits; nothing where it changed nothing."""
    changes = None if isinstance(end, Exception) else end.changes
    return changes.id if changes is not None and changes.items else ""


def notes(why: str, changes: str) -> tuple[str, ...]:
    """What the host is told of it at the end."""
    said = Message("the container was started again: {why}", why=why)
    if not changes:
        return (said,)
    return said, Message("what the lost container had changed: redoma apply {name}", name=changes)


def line(why: str) -> bytes:
    """What everybody reads in the terminal."""
    return _CALM + f"redoma: the container was started again: {why}\r\n".encode()
