"""The record to write to: where it lies, where its key is, how much of it is kept."""

from __future__ import annotations

from redoma.audit.log import KEEP, AuditLog
from redoma.base.private_file import key_place as place_of_key
from redoma.model.errors import RecordUnavailable, StateUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.base.private_file import KeyPlace

KEY_VARIABLE = "REDOMA_AUDIT_KEY"


def record(
    *, redact: Callable[[str], str] | None, keep: int | None = KEEP, place: str = ""
) -> AuditLog:
    """The record of this user; `keep` is how many entries a session keeps, None for all."""
    return AuditLog(place or directory(), redact=redact, keep=keep, keyed_by=key_place())


def directory() -> str:
    """Where the record of this user lies."""
    from redoma.base import own_directories

    try:
        return f"{own_directories.state()}/audit"
    except StateUnavailable as error:
        raise RecordUnavailable(str(error), hint=error.hint) from error


def key_place() -> KeyPlace:
    """Where the key of the record is, as the environment says."""
    return place_of_key(KEY_VARIABLE)
