"""The audit log as doors look at it."""

from __future__ import annotations

from redoma.audit.chain_walk import Verification
from redoma.audit.entries import AuditEntry, AuditReader, EntryFilter
from redoma.audit.stats import Stats
from redoma.pipeline.audit_log import key_place, own_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AuditEntry", "EntryFilter", "Stats", "Verification"]


def newest(limit: int, wanted: EntryFilter) -> list[AuditEntry]:
    """The newest entries, oldest first."""
    with AuditReader(own_directory()) as reader:
        return reader.newest(limit, wanted)


def entries(wanted: EntryFilter) -> Iterator[AuditEntry]:
    """Every entry, oldest first."""
    with AuditReader(own_directory()) as reader:
        yield from reader.all(wanted)


def one(seq: int) -> AuditEntry | None:
    """One entry by its number."""
    with AuditReader(own_directory()) as reader:
        return reader.get(seq)


def behind(wanted: EntryFilter, seq: int) -> EntryFilter:
    """The same entries, from after one on."""
    from redoma.model.value import replace

    return replace(wanted, after=max(seq, wanted.after))


def follow(wanted: EntryFilter) -> Iterator[AuditEntry]:
    """Entries as they are written."""
    from redoma.audit.entries import follow as followed

    return followed(own_directory(), wanted)


def stats(wanted: EntryFilter) -> Stats:
    """The counts over entries."""
    from redoma.audit.stats import count

    return count(entries(wanted))


def prometheus(wanted: EntryFilter) -> str:
    """The counts as a collector of metrics reads them."""
    from redoma.audit.stats import prometheus as spelled

    return spelled(stats(wanted))


def verified(expected: tuple[int, str] | None) -> Verification:
    """Whether the audit log is as it was written."""
    from redoma.audit.verification import verify

    return verify(own_directory(), keyed_by=key_place(), expected=expected)
