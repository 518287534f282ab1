"""The types of the document on sessions, by its own names and by Python's, and its texts.

Its checklist is `tests/sessions/test_release_checklist.py`. Portuguese stands as the document has
it, English beside it.
"""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Any

import redoma

SecretSanitizer = redoma.SecretSanitizer
"""The document's name for what takes secrets out of a prompt; ours is the same."""


class Permission(Enum):
    """The document's levels; a guest who was let in has `READ_ONLY`."""

    NONE = "none"
    READ_ONLY = "read_only"
    READ_WRITE = "read_write"

    __hash__ = object.__hash__


DEFAULT = Permission.READ_ONLY
RETAINED = 1000
"""How many of the newest rows a session keeps."""
CODE_MINUTES = 15
ACTIONS = (
    "session_started",
    "guest_joined",
    "guest_left",
    "permission_changed",
    "command_executed",
    "container_restarted",
    "session_ended",
)
TEXTS = {
    "⚠️ ATENÇÃO": "⚠️ WARNING",
    "Dar acesso de escrita permite que o convidado controle seu terminal.": (
        "Giving write access lets the guest control your terminal."
    ),
    "Só faça isso com pessoas de confiança.": "Only do this with people you trust.",
    "Tornar Editável": "Make editable",
    "Cancelar": "Cancel",
    "Conceder Acesso": "Grant access",
    "Agora você pode digitar": "You can type now",
    "Seu acesso de escrita foi revogado.": "Your write access has been revoked.",
    "Ver Logs": "View logs",
}
"""What its pages say, and what that is in English."""

_FIELDS = {
    "Timestamp": "timestamp",
    "SessionID": "session_id",
    "UserID": "user_id",
    "Action": "action",
    "Details": "details",
}


class AuditEvent:
    """One row of a session's audit log, with the document's five fields.

    >>> row = {"timestamp": "2026-02-12T10:00:00+00:00", "session_id": "s", "type": "guest_joined",
    ...        "actor": "Ana", "details": ""}
    >>> event = AuditEvent.from_row(row)
    >>> event.user_id, event.Action, event.timestamp.year
    ('Ana', 'guest_joined', 2026)
    """

    __slots__ = tuple(_FIELDS.values())

    timestamp: datetime.datetime
    session_id: str
    user_id: str
    action: str
    details: str

    def __init__(self, **fields: Any) -> None:
        given = {_FIELDS.get(name, name): value for name, value in fields.items()}
        if set(given) != set(self.__slots__):
            wrong = sorted(set(given) ^ set(self.__slots__))
            raise redoma.UsageError(
                f"an AuditEvent has its five fields, not: {', '.join(wrong)}",
                hint=f"its fields: {', '.join(_FIELDS)}",
            )
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an AuditEvent is not changed")

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self, _FIELDS[name])
        raise AttributeError(name)

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> AuditEvent:
        """The event of a row of `GET /api/sessions/{id}/audit`."""
        return cls(
            timestamp=datetime.datetime.fromisoformat(row["timestamp"]),
            session_id=row["session_id"],
            user_id=row["actor"],
            action=row["type"],
            details=row["details"],
        )


class LogSanitizer:
    """Takes tokens and passwords out of a message before it is logged.

    >>> LogSanitizer().Sanitize("password=hunter2-and-more")
    'password=[REDACTED]'
    """

    def __init__(self) -> None:
        self._sanitizer = SecretSanitizer()

    def sanitize(self, message: str) -> str:
        """The message with `[REDACTED]` in the place of each secret."""
        return self._sanitizer.sanitize(message)

    Sanitize = sanitize
