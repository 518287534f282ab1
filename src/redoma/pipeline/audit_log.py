"""The audit log to write to: where it lies, where its key is, how much of it is kept."""

from __future__ import annotations

import os

from redoma.audit.log import AuditLog
from redoma.base.private_file import key_place as place_of_key
from redoma.model.errors import RecordUnavailable, StateUnavailable
from redoma.pipeline.secrets import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
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
