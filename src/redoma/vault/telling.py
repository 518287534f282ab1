"""Names that tell: is what is called `DB_PASSWORD`, `max_tokens` or `secretName` a secret?"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache


class Tells(IntEnum):
    """How sure a name is that its value is a secret, and so how little the value has to show."""

    NOTHING = 0
    LITTLE = 1  # only beside a value that looks random
    MUCH = 2  # beside any value that is no word
    ALL = 3  # beside any value


_PARTS = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NOT = frozenset("no nopasswd nopassword nopass without skip ask prompt".split())
_PASSWORDS = frozenset(
    "password passwd passphrase passcode pwd pass passwort senha contrasena pw kennwort".split()
)
_PASSWORD_ENDS = ("password", "passwd", "passphrase", "passwort", "userpass", "dbpass", "rootpw")
_SECRETS = frozenset("secret token apikey pat mnemonic credential".split())
_SECRET_ENDS = (
    *("secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "accountkey"),
    *("sharedkey", "signingkey", "authkey", "masterkey", "encryptionkey", "sharedaccesskey"),
)
# `key` alone says nothing: it is the word for half of what computers do.
_KEYS_OF = frozenset(
    """
    access account admin aes api app application auth client consumer crypt deploy encryption hmac
    jwt licence license management master private secret service session shared signing
    ssh storage subscription webhook write integration ingest sas
    """.split()
)
_KEYS_OF_NOTHING = frozenset(
    """
    public pub publishable primary foreign sort partition range hash cache row map index unique
    composite object bucket file host known translation dict lookup group event message routing
    idempotency parent column natural registry hot up down left right arrow enter escape any each
    same every first last next new old this the a missing invalid no of
    """.split()
)
_LITTLE = frozenset("auth credentials creds dsn".split())
# What a name is about when it ends so: `token_type`, `password_file`, `secretName`.
_ABOUT = frozenset(
    """
    id ids name names file files filename path paths dir url uri endpoint host type kind count
    counts length len size limit limits max min policy policies manager store provider providers
    ttl expiry expires expiration expire expired created updated at age rotation version
    required enabled
    disabled hint prompt label field column placeholder regex pattern format algorithm alg ref refs
    selector scope scopes issuer audience status state index usage used budget pair ring board word
    error errors reset change changed check validation validator strength confirmation generator
    service server client class parser stream bucket buckets rate cost price model limit limiter
    permissions permission rule rules config settings method mode handler func function callback
    fingerprint uri prefix suffix info details owner user username email domain region zone arn
    """.split()
)


@lru_cache(maxsize=2048)
def tells(name: bytes) -> Tells:
    """What a name says about its value; words are told apart by case and by punctuation."""
    words = [part.decode("ascii").lower() for part in _PARTS.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words or words[-1] in _ABOUT or words[0] in _NOT:
        return Tells.NOTHING
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _PASSWORDS or last.endswith(_PASSWORD_ENDS):
        return Tells.ALL
    if last in _SECRETS or last.endswith(_SECRET_ENDS):
        return Tells.MUCH
    if last in ("key", "keys"):
        return _of_key(before)
    if last in _LITTLE or last in ("secrets", "tokens"):
        return Tells.LITTLE
    # `password_hash`, `secret_value`, `token_prod`: the telling word stands before the last.
    if before in _PASSWORDS and before not in ("pass", "pw"):
        return Tells.MUCH
    if before in _SECRETS or (before == "key" and len(words) > 2 and words[-3] in _KEYS_OF):
        return Tells.LITTLE
    return Tells.NOTHING


def _of_key(before: str) -> Tells:
    if before in _KEYS_OF_NOTHING or not before:
        return Tells.NOTHING
    return Tells.MUCH if before in _KEYS_OF else Tells.LITTLE


def looks_random(value: bytes) -> bool:
    """Whether a value is more varied than words, paths, versions and dates are."""
    if len(value) < 16 or not value.strip(b"abcdefghijklmnopqrstuvwxyz_-./"):
        return False
    digits = sum(0x30 <= char <= 0x39 for char in value)
    letters = sum(0x41 <= (char & 0xDF) <= 0x5A for char in value)
    return digits >= 2 and letters >= 3 and entropy(value) >= 3.0 and not is_path(value)


def entropy(value: bytes) -> float:
    """Shannon's, in bits for each byte."""
    from math import log2

    size = len(value)
    return -sum(n / size * log2(n / size) for n in map(value.count, set(value)))


def is_path(value: bytes) -> bool:
    """Whether a value is the name of a file; keys in base64 hold slashes as well."""
    if value[1:3] == b":\\":
        return True
    if b"/" not in value:
        return False
    if not value.startswith((b"/", b"./", b"../", b"~/")):
        return value == value.lower()
    # Secret keys of AWS are 40 characters of base64, and one of 64 begins with a slash.
    return not (len(value) == 40 and _is_jumbled(value.replace(b"/", b""))) and not any(
        map(_is_jumbled, value.split(b"/"))
    )


def _is_jumbled(part: bytes) -> bool:
    """Cases and digits in one long word, as in no name that a person gave."""
    return (
        len(part) >= 12
        and part != part.lower()
        and part != part.upper()
        and any(0x30 <= char <= 0x39 for char in part)
    )
