"""The chain: each row's link covers the row and the link before it, and the head is under a key.

Who changes a row must change every link after it, and then the head, which takes the key. Rows
that retention lets go leave a gap, and a gap is under the key as well: it says which rows went and
which links stood at its two ends.

Rows that are written together, what the ledger counts of them, and the head they lead to.
"""

from __future__ import annotations

from redoma.audit import ledger
from redoma.base.cores import json_line
from redoma.model.event import Kind
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from redoma.audit.database import Connection
    from redoma.model.errors import RateLimited
    from redoma.model.policy import AdmissionLimits


DEEPEST = 32
_LARGEST = 1.7976931348623157e308


def storable(text: str) -> str:
    """The text as SQLite keeps it whole: a byte that is no UTF-8, and NUL, by their numbers.

    Attack: SQL functions stop at NUL, so that a search would not see what stands behind it.
    """
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    return text.replace("\0", "\\x00") if "\0" in text else text


def json_text(value: object, clean: Callable[[str], str]) -> str:
    """A JSON value in ASCII on one line, each string cleaned."""
    return json_line(_plain(value, clean, 0))


def _plain(value: object, clean: Callable[[str], str], depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        # JSON has no spelling for those that are no number.
        return value if -_LARGEST <= value <= _LARGEST else None
    if depth >= DEEPEST:
        raise ValueError(
            Message("the details of an event are nested deeper than {most}", most=DEEPEST)
        )
    if isinstance(value, dict):
        cleaned = {}
        for name, each in value.items():
            if not isinstance(name, str):
                raise TypeError(f"a name in the details of an event is text, not {name!r}")
            cleaned[clean(name)] = _plain(each, clean, depth + 1)
        return cleaned
    if isinstance(value, (list, tuple)):
        return [_plain(each, clean, depth + 1) for each in value]
    raise TypeError(f"the details of an event are JSON; {type(value).__name__} is not")


def row_bytes(row: tuple[Any, ...]) -> bytes:
    """One spelling for one row: lengths stand before the texts, so that no text can pose as two.

    Raises TypeError or ValueError where a column has another type than it was written with.
    """
    seq, at, kind, run, session, caller, command, digest, details = row
    sizes = (
        f"{seq:d} {at:d} {len(kind)} {len(run)} {len(session)} {len(caller)} {len(command)} "
        f"{len(digest)} {len(details)}\n"
    )
    return "".join((sizes, kind, run, session, caller, command, digest, details)).encode()


try:  # the built-in alone: hashlib also loads OpenSSL
    from redoma.base.cores import blake2b
except ImportError:  # pragma: no cover
    from hashlib import blake2b
GENESIS = bytes(32)


class ChainHead(Value):
    """The end of the chain as the audit log itself keeps it, and the ledger's clock."""

    record: str  # the audit log's own name: a head of another record does not fit
    seq: int = 0
    link: bytes = GENESIS
    # See redoma.audit.ledger.
    ledger: int = 0
    boot: str = ""
    uptime: int = 0
    wall: int = 0


class Gap(Value):
    """Rows `first` to `last` were let go; `before` and `after` are the links at the two ends."""

    first: int
    last: int
    before: bytes
    after: bytes


def link(before: bytes, row: bytes) -> bytes:
    """The link of a row whose predecessor's link is `before`."""
    return blake2b(before + row, digest_size=32).digest()


def fits(before: bytes, row: tuple[object, ...], own: object) -> bool:
    """Whether a row as it was read is the one that this link was made for."""
    try:
        return link(before, row_bytes(row)) == own
    except (TypeError, ValueError):  # a column has another type than it was written with
        return False


def head_mac(key: bytes, head: ChainHead) -> bytes:
    """The head under the key."""
    spelled = (
        f"{head.record} {head.seq:d} {head.link.hex()} {head.ledger:d} {head.boot} "
        f"{head.uptime:d} {head.wall:d}"
    )
    return _mac(key, b"redoma.head", spelled.encode())


def gap_mac(key: bytes, record: str, gap: Gap) -> bytes:
    """A gap under the key."""
    spelled = f"{record} {gap.first:d} {gap.last:d} {gap.before.hex()} {gap.after.hex()}"
    return _mac(key, b"redoma.gap", spelled.encode())


def anchor_mac(key: bytes, content: bytes) -> bytes:
    """The head file's content under the key."""
    return _mac(key, b"redoma.anchor", content)


def command_digest(key: bytes, command: str) -> str:
    """A command's name in the ledger.

    Attack: a command holds a short secret, and who sees an export tries all secrets until the
    digest fits. Under the key there is nothing to try against.
    """
    return _mac(key, b"redoma.command", command.encode("utf-8", "surrogatepass")).hex()[:32]


def fingerprint(key: bytes) -> str:
    """What may be shown of a key, to tell it from another."""
    return _mac(key, b"redoma.name", b"").hex()[:16]


def _mac(key: bytes, purpose: bytes, content: bytes) -> bytes:
    return blake2b(content, key=key, person=purpose, digest_size=32).digest()


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
                from redoma.audit import ledger as limits

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
