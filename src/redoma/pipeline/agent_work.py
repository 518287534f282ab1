"""What an agent did through us in one of its sessions, by the audit log; and taking it back."""

from __future__ import annotations

import os

from redoma.base.paths import is_within
from redoma.model.change import Standing
from redoma.model.errors import ChangeError, PreviewGone, UsageError
from redoma.model.event import Kind
from redoma.model.message import Message
from redoma.model.value import Value
from redoma.pipeline import stored_changes
from redoma.pipeline.audit_reader import EntryFilter, entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.change import HistoryEntry, Undone
    from redoma.pipeline.transactions import Transactions

_SECOND = 1_000_000
_COUNTED = (Kind.RUN_STARTING, Kind.REFUSED, Kind.APPLIED, Kind.JUDGED)


class SessionWork(Value):
    """One session of an agent: what ran, what was refused, what changed."""

    id: str
    caller: str
    began: float  # seconds since 1970
    ended: float
    ran: int = 0
    refused: int = 0
    # Runs that wrote straight into the workspace, as what stays in the background does.
    direct: tuple[str, ...] = ()
    # What was applied, in the order in which it happened; and where each stands now.
    changes: tuple[HistoryEntry, ...] = ()

    @property
    def applied(self) -> tuple[HistoryEntry, ...]:
        """What stands as it was applied, and can be taken back."""
        return tuple(entry for entry in self.changes if entry.standing is Standing.APPLIED)


class SessionUndone(Value):
    """What was taken back of a session, and where that stopped."""

    id: str
    undone: tuple[Undone, ...] = ()
    stopped_at: str = ""
    error: ChangeError | None = None


def session_work(word: str = "", *, workspace: str = "") -> SessionWork:
    """The session that is meant: by its name or how that begins, or the newest of an agent here."""
    id = _named(word) if word else _newest(workspace)
    known = {entry.id: entry for entry in stored_changes.history()}
    began = ended = 0
    caller = ""
    ran: set[str] = set()
    refused: set[str] = set()
    direct: dict[str, None] = {}
    changes: dict[str, HistoryEntry] = {}
    for row in entries(EntryFilter(session=id, kinds=tuple(kind.value for kind in _COUNTED))):
        began, ended = began or row.at, row.at
        caller = caller or row.caller
        facts = row.facts()
        if row.kind == Kind.RUN_STARTING.value:
            ran.add(row.run)
            if facts.get("writes") == "direct":
                direct[row.command] = None
        elif row.kind == Kind.REFUSED.value or facts.get("verdict") == "deny":
            refused.add(row.run)
        elif row.kind == Kind.APPLIED.value:
            entry = known.get(str(facts.get("changes")))
            if entry is not None:
                changes.pop(entry.id, None)  # applied again: it counts from then on
                changes[entry.id] = entry
    return SessionWork(
        id=id,
        caller=caller,
        began=began / _SECOND,
        ended=ended / _SECOND,
        ran=len(ran),
        refused=len(refused),
        direct=tuple(direct),
        changes=tuple(changes.values()),
    )


def undo_session(work: SessionWork, transactions: Transactions) -> SessionUndone:
    """Takes back what a session applied, the newest first; stops where a file changed since."""
    undone: list[Undone] = []
    for entry in reversed(work.applied):
        try:
            undone.append(transactions.undo(entry.id))
        except ChangeError as error:
            return SessionUndone(id=work.id, undone=tuple(undone), stopped_at=entry.id, error=error)
    return SessionUndone(id=work.id, undone=tuple(undone))


def _named(word: str) -> str:
    """The whole name of the one session that begins so."""
    found: dict[str, None] = {}
    for row in entries(EntryFilter()):
        if row.session == word:
            return word
        if row.session.startswith(word):
            found[row.session] = None
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise PreviewGone(
            "nothing is written down of a session {word}",
            word=word,
            hint="redoma session-report --list",
        )
    raise UsageError(
        "{word} is the beginning of several: {names}", word=word, names=", ".join(list(found)[:5])
    )


def sessions() -> tuple[tuple[str, str, float], ...]:
    """Every session of an agent, the newest first: its name, the agent, when it last did something.

    What people do at their own terminals has names of another kind.
    """
    last: dict[str, tuple[str, float]] = {}
    for row in entries(EntryFilter()):
        if row.session and ":" not in row.session and ":" not in row.caller:
            last[row.session] = (row.caller, row.at / _SECOND)
    rows = [(id, caller, at) for id, (caller, at) in last.items()]
    return tuple(sorted(rows, key=lambda row: row[2], reverse=True))


def _newest(workspace: str) -> str:
    """The last session of an agent that changed something here, or else the last of all."""
    agents = [id for id, _, _ in sessions()]
    wanted = EntryFilter(kinds=(Kind.APPLIED.value,))
    here = ""
    for row in entries(wanted):
        place = str(row.facts().get("workspace") or "")
        if row.session in agents and workspace and place and _meets(place, workspace):
            here = row.session
    if here or agents:
        return here or agents[0]
    raise PreviewGone(
        Message("no agent has had a session here yet"), hint="redoma hook install claude-code"
    )


def _meets(place: str, workspace: str) -> bool:
    real = os.path.realpath(workspace)
    return is_within(real, place) or is_within(place, real)
