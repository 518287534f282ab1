"""The record as doors use it: where it is, and how to look at it."""

from __future__ import annotations

import os

from redoma.model.errors import UsageError
from redoma.record.faults import Verification
from redoma.record.keys import KeyPlace
from redoma.record.search import Entry, Reader, Wanted
from redoma.record.stats import Stats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.record.store import Record

__all__ = ["Entry", "Stats", "Verification", "Wanted"]

KEY_VARIABLE = "REDOMA_AUDIT_KEY"


def directory() -> str:
    """Where the record of this user lies."""
    from redoma.jail import places
    from redoma.model.errors import RecordUnavailable

    try:
        return f"{places.state()}/audit"
    except OSError as error:
        raise RecordUnavailable(str(error), hint="set XDG_STATE_HOME") from error


def writable(
    *, redact: Callable[[str], str] | None, keep: int | None = None, place: str = ""
) -> Record:
    """The record to write to; `keep` is how many entries a session keeps."""
    from redoma.record.store import KEEP, Record

    return Record(
        place or directory(),
        redact=redact,
        keep=KEEP if keep is None else keep,
        keyed_by=key_place(),
    )


def key_place() -> KeyPlace:
    """Where the key is, as the environment says: `file` or `keychain`."""
    said = os.environ.get(KEY_VARIABLE) or KeyPlace.FILE.value
    try:
        return KeyPlace(said)
    except ValueError:
        raise UsageError(
            f"{KEY_VARIABLE} is {said!r}", hint=f"{KEY_VARIABLE}=file or keychain"
        ) from None


def newest(limit: int, wanted: Wanted) -> list[Entry]:
    """The newest entries, oldest first."""
    with Reader(directory()) as reader:
        return reader.newest(limit, wanted)


def entries(wanted: Wanted) -> Iterator[Entry]:
    """Every entry, oldest first."""
    with Reader(directory()) as reader:
        yield from reader.all(wanted)


def one(seq: int) -> Entry | None:
    """One entry by its number."""
    with Reader(directory()) as reader:
        return reader.get(seq)


def behind(wanted: Wanted, seq: int) -> Wanted:
    """The same entries, from after one on."""
    from redoma.model.value import replace

    return replace(wanted, after=max(seq, wanted.after))


def follow(wanted: Wanted) -> Iterator[Entry]:
    """Entries as they are written."""
    from redoma.record.search import follow as followed

    return followed(directory(), wanted)


def stats(wanted: Wanted) -> Stats:
    """The counts over entries."""
    from redoma.record.stats import count

    return count(entries(wanted))


def prometheus(wanted: Wanted) -> str:
    """The counts as a collector of metrics reads them."""
    from redoma.record.stats import prometheus as spelled

    return spelled(stats(wanted))


def verified(expected: tuple[int, str] | None) -> Verification:
    """Whether the record is as it was written."""
    from redoma.record.verify import verify

    return verify(directory(), keyed_by=key_place(), expected=expected)
