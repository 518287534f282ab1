"""Values that stand where a secret would, and are none: variables, masks, types, words for it."""

from __future__ import annotations

_BARE = frozenset(
    b"""
    true false null none nil undefined yes no on off string str text number int integer bool boolean
    object bytes any optional required default empty unset unknown disabled enabled redacted hidden
    masked secret password passwd pass token key value example changeme change_me placeholder todo
    tbd n/a xxx prompt ask stdin env ok failed invalid incorrect expired missing wrong correct
    accepted rejected is was are has must should not for and or the a an to in of with from
    sensitive ***  ... plaintext varchar char username user
    """.split()
)
_STARTS = (
    b"[REDACTED",
    b"%(",
    b"%s",
    b"`",
    b"@@",
    b"-----BEGIN",
    b"your-",
    b"your_",
    b"YOUR_",
    b"YOUR-",
    b"os.environ",
    b"os.getenv",
    b"process.env",
    b"secrets.",
    b"vars.",
    b"env.",
    b"ENV[",
    b"!Ref",
    b"!Sub",
    b"file://",
    b"fileb://",
    b"vault:",
    b"op://",
    b"arn:",
)
_MASK = b"*xX.\xe2\x80\xa2-_?#"
_REFERENCE = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_${}()[]@*.:/- '\"|<>=#%"
)


def is_placeholder(value: bytes) -> bool:
    """Whether a value says by itself that the secret is elsewhere, hidden or still to come."""
    bare = value.strip(b"\"'` \t,;")
    if not bare or bare.lower() in _BARE or bare.startswith(_STARTS):
        return True
    first = bare[:1]
    if first in (b"$", b"\\"):
        return _is_reference(bare.lstrip(b"\\"))
    if first == b"{":
        return b"}" in bare or len(bare) < 3
    if first == b"<":
        return bare.endswith(b">") or bare[1:2] in (b"", b"<", b"(")
    if first == b"%" and bare[-1:] == b"%" and len(bare) > 2:
        return True
    return not bare.strip(_MASK)


def _is_reference(bare: bytes) -> bool:
    """`$NAME`, `${NAME:-x}`, `$(command)`; but `$6$…` is a hash and `$ecr3t!` a password."""
    if bare[:1] != b"$":
        return False
    if bare[1:2] in (b"{", b"("):
        return True
    return bare.count(b"$") < 3 and not bare.strip(_REFERENCE)
