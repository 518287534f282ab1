"""The chain: each row's link covers the row and the link before it, and the head is under a key.

Who changes a row must change every link after it, and then the head, which takes the key. Rows
that retention lets go leave a gap, and a gap is under the key as well: it says which rows went and
which links stood at its two ends.
"""

from __future__ import annotations

from redoma.base.cores import json_line
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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
