"""What is written down of a session, in the audit log that everything else is written to."""

from __future__ import annotations

from redoma.model.event import Event, Kind
from redoma.pipeline.audit_reader import EntryFilter, newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.audit.log import AuditLog
    from redoma.sessions.people import Guest, PermissionLevel

KINDS = (
    Kind.SESSION_STARTED,
    Kind.GUEST_JOINED,
    Kind.GUEST_LEFT,
    Kind.PERMISSION_CHANGED,
    Kind.COMMAND_EXECUTED,
    Kind.CONTAINER_RESTARTED,
    Kind.SESSION_ENDED,
)
MOST = 1000
"""The newest rows of each session stay."""


class SessionTrail:
    """The rows of one session; RecordError where one cannot be written."""

    def __init__(self, log: AuditLog, session: str) -> None:
        self._log = log
        self._session = session

    def started(self, *, engine: str, workspace: str) -> None:
        self._note(Kind.SESSION_STARTED, "host", {"engine": engine, "workspace": workspace})

    def joined(self, guest: Guest) -> None:
        self._note(Kind.GUEST_JOINED, guest.name, {"guest": guest.id, "origin": guest.origin})

    def left(self, guest: Guest) -> None:
        self._note(Kind.GUEST_LEFT, guest.name, {"guest": guest.id, "origin": guest.origin})

    def permission(self, guest: Guest, new: PermissionLevel, by: str) -> None:
        details: dict[str, object] = {
            "guest": guest.id,
            "name": guest.name,
            "from": guest.permission.value,
            "to": new.value,
            "by": by,
        }
        self._note(Kind.PERMISSION_CHANGED, by, details)

    def command(self, command: str, typed_by: tuple[str, ...]) -> None:
        """A command line that guests typed, or had a part in."""
        self._note(
            Kind.COMMAND_EXECUTED, ", ".join(typed_by), {"typed_by": list(typed_by)}, command
        )

    def restarted(self, why: str, by: str) -> None:
        self._note(Kind.CONTAINER_RESTARTED, by, {"why": why, "by": by})

    def ended(self, *, by: str, seconds: float, code: int | None) -> None:
        details = {"by": by, "duration_seconds": round(seconds, 3), "exit_code": code}
        self._note(Kind.SESSION_ENDED, by, details)

    def _note(self, kind: Kind, actor: str, details: dict[str, object], command: str = "") -> None:
        self._log.note(
            Event(
                kind=kind,
                run=self._session,
                session=self._session,
                caller=actor,
                command=command,
                details=details,
            )
        )


def rows(session: str, limit: int = MOST) -> list[dict[str, object]]:
    """The newest rows of a session as a page or a program reads them, oldest first."""
    import datetime

    wanted = EntryFilter(session=session, kinds=tuple(kind.value for kind in KINDS))
    found: list[dict[str, object]] = []
    for entry in newest(limit, wanted):
        at = datetime.datetime.fromtimestamp(entry.at / 1e6, datetime.UTC)
        facts = entry.facts()
        found.append(
            {
                "timestamp": at.isoformat(),
                "session_id": entry.session,
                "type": entry.kind.replace("-", "_"),
                "actor": entry.caller,
                "details": _said(entry.command, facts),
                "facts": facts,
                "command": entry.command,
            }
        )
    return found


def _said(command: str, facts: dict[str, object]) -> str:
    said = ", ".join(f"{name}: {_plain(value)}" for name, value in facts.items())
    return f"{command} ({said})" if command and said else command or said


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(each) for each in value)
    return "-" if value is None else str(value)
