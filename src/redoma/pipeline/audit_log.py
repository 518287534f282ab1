"""The audit log to write to: where it lies, where its key is, how much of it is kept."""

from __future__ import annotations

import os

from redoma.audit.chain_walk import Verification
from redoma.audit.entries import AuditEntry, AuditReader, EntryFilter
from redoma.audit.log import AuditLog
from redoma.audit.stats import Stats
from redoma.base.private_file import key_place as place_of_key
from redoma.model.errors import RecordUnavailable, StateUnavailable
from redoma.pipeline.secrets import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.base.private_file import KeyPlace
    from redoma.model.policy import AdmissionLimits, Policy


KEY_VARIABLE = "REDOMA_AUDIT_KEY"
MOST_OPEN = 4
_open_logs: dict[tuple[object, ...], AuditLog] = {}


def audit_log(directory: str, policy: Policy, secrets: tuple[str, ...] = ()) -> AuditLog:
    """The audit log in a directory, or the user's own; one for each process.

    `secrets` are values that may not be written down, beside those of our own variables.
    """
    place = os.path.abspath(directory) if directory else own_directory()
    redacts = policy.logging.redact_secrets
    key = (place, policy.retention.entries_per_session, redacts, secrets)
    known = _open_logs.pop(key, None)
    if known is None:
        cleaned = redact if redacts else None
        if redacts and secrets:
            from redoma.pipeline.secrets import redactor

            cleaned = redactor(values=secrets).text
        known = AuditLog(place, redact=cleaned, keep=key[1], keyed_by=key_place())
        # A log holds files open: one that was not used for a while is closed, and opens again.
        for old in list(_open_logs)[: max(0, len(_open_logs) - MOST_OPEN + 1)]:
            _open_logs.pop(old).close()
    _open_logs[key] = known
    return known


def own_directory() -> str:
    """Where the audit log of this user lies."""
    from redoma.base import own_directories

    try:
        return f"{own_directories.state()}/audit"
    except StateUnavailable as error:
        raise RecordUnavailable(str(error), hint=error.hint) from error


def key_place() -> KeyPlace:
    """Where the key of the log is, as the environment says."""
    return place_of_key(KEY_VARIABLE)


def rates(policy: Policy) -> AdmissionLimits:
    """How much may run under a policy, for each caller and for each session."""
    from redoma.model.policy import AdmissionLimits, Rates

    given = policy.rate_limits
    each = Rates(
        executions_per_minute=given.executions_per_minute,
        concurrent_runs=given.concurrent_runs,
        cpu_seconds_per_day=given.cpu_seconds_per_day,
        bytes_per_day=given.bytes_written_per_day,
    )
    return AdmissionLimits(per_caller=each, per_session=each)


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
