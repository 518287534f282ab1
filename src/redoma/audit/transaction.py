"""Rows that are written together, what the ledger counts of them, and the head they lead to."""

from __future__ import annotations

from redoma.audit import ledger
from redoma.audit.chain import ChainHead, json_text, link, row_bytes
from redoma.model.event import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from redoma.audit.database import Connection
    from redoma.model.errors import RateLimited
    from redoma.model.policy import AdmissionLimits

# How often old rows are let go and runs added up: each time so many rows were written.
BATCH = 64
_INSERT = "INSERT INTO audit_log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Draft:
    """A row that waits for its number, its time and its link; its text has been cleaned."""

    __slots__ = ("caller", "command", "details", "digest", "facts", "kind", "run", "session")

    def __init__(
        self,
        kind: Kind,
        *,
        run: str,
        session: str,
        caller: str,
        command: str = "",
        digest: str = "",
        details: str = "{}",
        facts: Mapping[str, object] | None = None,
    ) -> None:
        self.kind = kind
        self.run = run
        self.session = session
        self.caller = caller
        self.command = command
        self.digest = digest
        self.details = details
        self.facts = facts or {}  # what the details say, for the ledger to count


class Transaction:
    """A transaction that is open in the database; `head` is where it began."""

    def __init__(self, connection: Connection, key: bytes, head: ChainHead) -> None:
        self._known = head
        self._clock = ledger.Now()
        self._seq = head.seq
        self._link = head.link
        self._connection = connection
        self._key = key
        self._now = head.ledger + ledger.passed(head, self._clock)

    def run(self, drafts: list[Draft], rates: AdmissionLimits | None) -> RateLimited | None:
        """Adds the rows; where a limit refuses the start among them, the refusal instead."""
        for draft in drafts:
            if draft.kind is Kind.RUN_STARTING and rates is not None:
                from redoma.audit import rate_limits as limits

                if limits.crowded(self._connection, draft.caller, draft.session, rates):
                    self.close_interrupted()
                refusal = limits.admit(
                    self._connection, draft.caller, draft.session, rates, self._now
                )
                if refusal is not None:
                    self._add(refused(draft, refusal))
                    return refusal
            self._add(draft)
        return None

    @property
    def head(self) -> ChainHead:
        """Where the rows so far lead."""
        return ChainHead(
            record=self._known.record,
            seq=self._seq,
            link=self._link,
            ledger=self._now,
            boot=self._clock.boot,
            uptime=self._clock.uptime,
            wall=self._clock.wall,
        )

    def close_interrupted(self) -> None:
        """Writes the end of every run whose process is gone."""
        for going in ledger.interrupted(self._connection, self._now):
            self._add(
                Draft(
                    Kind.INTERRUPTED,
                    run=going.run,
                    session=going.session,
                    caller=going.caller,
                    details=f'{{"started":{going.seq}}}',
                )
            )

    def let_go(self, keep: int | None) -> None:
        """Lets old rows go, when it is time to."""
        if self._known.seq // BATCH == self._seq // BATCH:
            return
        ledger.add_up(self._connection, self._now)
        if keep is None:
            return
        from redoma.audit import retention

        since = self._known.seq - BATCH
        for gone in retention.let_go(self._connection, self._key, self._known.record, keep, since):
            self._add(
                Draft(
                    Kind.RETAINED,
                    run="",
                    session=gone.session,
                    caller="",
                    details=f'{{"rows":{gone.rows},"up_to":{gone.up_to}}}',
                )
            )

    def _add(self, draft: Draft) -> None:
        seq = self._seq + 1
        row = (
            seq,
            self._clock.wall,
            draft.kind.value,
            draft.run,
            draft.session,
            draft.caller,
            draft.command,
            draft.digest,
            draft.details,
        )
        own = link(self._link, row_bytes(row))
        self._connection.execute(_INSERT, (*row, own))
        self._seq, self._link = seq, own
        if draft.kind is Kind.RUN_STARTING:
            ledger.begin(self._connection, draft, seq, self._now)
        elif draft.kind is Kind.RUN_ENDED:
            ledger.end(self._connection, draft.run, draft.facts)


def refused(draft: Draft, refusal: RateLimited) -> Draft:
    """The row that stands in the place of a start that a limit refused."""
    facts = {"because": str(refusal), "code": refusal.code, "retry_after": refusal.retry_after}
    return Draft(
        Kind.REFUSED,
        run=draft.run,
        session=draft.session,
        caller=draft.caller,
        command=draft.command,
        details=json_text(facts, str),
    )
