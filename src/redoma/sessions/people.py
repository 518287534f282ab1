"""Who is in a session: those who wait, those who watch, and what each of them may do."""

from __future__ import annotations

from enum import Enum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class PermissionLevel(Enum):
    """What a person may do with a session's terminal."""

    NONE = "none"
    READ_ONLY = "read_only"
    READ_WRITE = "read_write"

    __hash__ = object.__hash__


class GuestState(Enum):
    """Where a guest stands."""

    WAITING = "waiting"
    ADMITTED = "admitted"
    LEFT = "left"
    REFUSED = "refused"
    BLOCKED = "blocked"

    __hash__ = object.__hash__


class Guest(Value):
    """Someone who came with a code; `since` is when the state began, in seconds since 1970."""

    id: str
    name: str
    origin: str
    state: GuestState = GuestState.WAITING
    permission: PermissionLevel = PermissionLevel.NONE
    since: float = 0.0
    transport: str = "websocket"

    def seen_by_host(self) -> Mapping[str, object]:
        return {
            "id": self.id,
            "name": self.name,
            "origin": self.origin,
            "state": self.state.value,
            "permission": self.permission.value,
            "since": self.since,
            "transport": self.transport,
        }

    def seen_by_guests(self) -> Mapping[str, object]:
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state.value,
            "permission": self.permission.value,
        }


LONGEST_NAME = 40


def plain_name(given: str) -> str:
    """A guest's name as it may be shown: one short line, nothing in it that acts or deceives."""
    from redoma.base.text import harmless

    words = harmless(" ".join(given.split()))
    return words[:LONGEST_NAME].strip()
