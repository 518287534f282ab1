"""The record as doors look at it."""

from __future__ import annotations

from redoma.audit.faults import Verification
from redoma.audit.search import Entry, Reader, Wanted
from redoma.audit.stats import Stats
from redoma.pipeline.audit_log import key_place, own_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entry", "Stats", "Verification", "Wanted"]


def newest(limit: int, wanted: Wanted) -> list[Entry]:
    """The newest entries, oldest first."""
    with Reader(own_directory()) as reader:
        return reader.newest(limit, wanted)


def entries(wanted: Wanted) -> Iterator[Entry]:
    """Every entry, oldest first."""
    with Reader(own_directory()) as reader:
        yield from reader.all(wanted)


def one(seq: int) -> Entry | None:
    """One entry by its number."""
    with Reader(own_directory()) as reader:
        return reader.get(seq)


def behind(wanted: Wanted, seq: int) -> Wanted:
    """The same entries, from after one on."""
    from redoma.model.value import replace

    return replace(wanted, after=max(seq, wanted.after))


def follow(wanted: Wanted) -> Iterator[Entry]:
    """Entries as they are written."""
    from redoma.audit.search import follow as followed

    return followed(own_directory(), wanted)


def stats(wanted: Wanted) -> Stats:
    """The counts over entries."""
    from redoma.audit.stats import count

    return count(entries(wanted))


def prometheus(wanted: Wanted) -> str:
    """The counts as a collector of metrics reads them."""
    from redoma.audit.stats import prometheus as spelled

    return spelled(stats(wanted))


def verified(expected: tuple[int, str] | None) -> Verification:
    """Whether the record is as it was written."""
    from redoma.audit.verify import verify

    return verify(own_directory(), keyed_by=key_place(), expected=expected)
