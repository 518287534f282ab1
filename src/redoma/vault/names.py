"""Secrets that are known by the name they are given: `KEY=value`, `--key value`, `"key": "value"`.

A word of the text that holds a telling piece is read to both sides; if its name tells, what follows
an assignment is its value. How much the value has to show for itself depends on how much the name
tells (`Tells`), on quotes, and on whether the assignment is one that only machines read.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from redoma.vault.contexts import NAME_PIECES
from redoma.vault.placeholders import is_placeholder
from redoma.vault.spans import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


class Tells(Enum):
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


_LONGEST_NAME = 80
_LONGEST_JUDGED = 512
_MAY_OPEN = frozenset((b"\\", b"b", b"r", b"u", b"f"))
_IN_NAME = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_patterns: dict[str, re.Pattern[bytes]] = {}
# No group is possessive: Python before 3.11.4 lets such a group run past its own end.
_SOURCES = {
    # `key` alone tells nothing, so it is not even looked at.
    "piece": b"|".join(
        rb"key(?:(?<=[\w.-]key)|(?<=api key))" if p == b"key" else p for p in NAME_PIECES
    ),
    "rest": rb"[\w.-]*+",
    # What may close the name (a quote, an index), the sign, and blanks.
    "sign": rb"""\\{0,3}["'`]?\]?"""
    rb"(?:[ \t]{0,16}(?:=>|:=|\?=|\+=|={1,3}|:{1,2}(?!/))[ \t]{0,16}|%3[Dd])@?",
    "blank": rb"[ \t]{1,8}(?!-)",
    # JSON in a string has its quotes escaped: the value ends at the same mark as it began.
    "escaped": rb"""(\\{1,7}["'])((?:(?!\1)[^\r\n]){0,4096})""",
    "quoted": rb"""[bruf]?(["'])((?:(?!\1)[^\\\r\n]|\\[^\r\n]){0,4096})(\1?)""",
    # 'it'"'"'s': a shell's word goes on after a quote.
    "goes-on": rb"""(?:"[^"\r\n]*+"|'[^'\r\n]*+'|\\[^\r\n]|[^\s"'`,;:&|(){}<>\[\]\\#]){1,512}""",
    "word": rb"""[^\s"'`<>\x00]{1,512}""",
    # A value that is longer than was read to judge it goes on to its end.
    "rest-of-word": rb"""[^\s"'`<>\x00]*+""",
    "rest-of-quoted": rb"""[^"'\r\n]*+""",
    # Where the next pair, the next command or the next line of a text in a string begins.
    "ends": rb"[;,](?=[ \t]?[\w. -]{1,40}[=:])|&(?=[\w.-]{1,40}=)|&&|\|\||[;|&](?=[A-Za-z ])"
    rb"|\\[nrt](?=\W|\Z|\w{1,40}[=:])",
    "more": rb"[ \t]+[A-Za-z]",
    "code": rb"[A-Za-z_][\w.:]*+[(\[]",
}


def _pattern(name: str) -> re.Pattern[bytes]:
    ready = _patterns.get(name)
    if ready is None:
        ready = _patterns[name] = re.compile(_SOURCES[name])
    return ready


def spans(block: bytes, low: bytes) -> Iterator[Span]:
    """Where the block assigns a value to a name that tells; `low` is its lower case."""
    find, rest = _pattern("piece").search, _pattern("rest").match
    at = 0
    while hit := find(low, at):
        start = hit.start()
        # Never back beyond `at`: words are read once, however they are cut.
        least = max(at, start - _LONGEST_NAME)
        while start > least and block[start - 1] in _IN_NAME:
            start -= 1
        followed = rest(block, hit.end())
        end = followed.end() if followed else hit.end()
        at = end
        told = tells(block[start:end])
        if told is Tells.NOTHING and _is_api_key(low, start, end):
            told = Tells.MUCH
        if told is Tells.NOTHING or end - start > _LONGEST_NAME:
            continue
        span = _assigned(block, start, end, told)
        if span is not None:
            at = max(end, span.end)
            yield span


def _is_api_key(low: bytes, start: int, end: int) -> bool:
    """`API key: …`, as people and programs write it in prose."""
    return low[start:end] == b"key" and low[max(0, start - 4) : start] == b"api "


def _assigned(block: bytes, start: int, name_end: int, told: Tells) -> Span | None:
    option = block[start] == 0x2D
    sign = _pattern("sign").match(block, name_end)
    if sign is None and option:
        sign = _pattern("blank").match(block, name_end)
    if sign is None or _closes_a_quote(block, start, sign):
        return None
    name = block[start:name_end]
    tight = option or _is_tight(name, sign.group())
    if told is Tells.ALL and not tight and name.lower() == b"pass":
        return None  # the tally of a test run
    value = _value(block, sign.end())
    if value is None:
        return None
    begin, end, quoted = value
    text = block[begin:end]
    if is_placeholder(text) or not _is_secret(text, name, told, tight=tight, quoted=quoted):
        return None
    if not quoted:
        if not tight and not _has_digit_and_letter(text) and _pattern("more").match(block, end):
            return None  # a sentence: "password: must be at least"
        if not name.isupper() and _pattern("code").match(text):
            return None  # code that gets the value: password = ask()
    if end - begin >= _LONGEST_JUDGED:
        end = _whole(block, end, quoted=quoted)
    return Span(start, end, begin, end, "password" if told is Tells.ALL else "secret")


def _whole(block: bytes, end: int, *, quoted: bool) -> int:
    rest = _pattern("rest-of-quoted" if quoted else "rest-of-word").match(block, end)
    return rest.end() if rest else end


def _closes_a_quote(block: bytes, start: int, sign: re.Match[bytes]) -> bool:
    """`echo "TOKEN=" >> file`, `read -p "Password: " x`: the mark after the sign ends a text."""
    mark = block[sign.end() : sign.end() + 1]
    if mark not in (b'"', b"'") or mark in sign.group():
        return False
    least = max(block.rfind(b"\n", 0, start) + 1, start - 512)
    return block.count(mark, least, start) % 2 == 1


def _value(block: bytes, at: int) -> tuple[int, int, bool] | None:
    """Where the value after a sign begins and ends, and whether it stands in quotes."""
    word = _pattern("word").match(block, at)
    if word is None or block[at : at + 1] in _MAY_OPEN:
        quoted = _pattern("quoted").match(block, at)
        if quoted:
            onward = _pattern("goes-on").match(block, quoted.end()) if quoted[3] else None
            return (at, onward.end(), True) if onward else (*quoted.span(2), True)
        escaped = _pattern("escaped").match(block, at)
        if escaped:
            return *escaped.span(2), True
        if word is None:
            return None
    text = word.group()
    if not text.isalnum():
        cut = _pattern("ends").search(text)
        if cut:
            text = text[: cut.start()]
    return at, at + len(text.rstrip(b",;)}]\\|&")), False


def _is_tight(name: bytes, sign: bytes) -> bool:
    """`NAME=value` without blanks, as shells, files of variables and URLs have it."""
    return sign in (b"=", b"%3D", b"%3d") or (name.isupper() and sign.strip() == b"=")


def _is_secret(value: bytes, name: bytes, told: Tells, *, tight: bool, quoted: bool) -> bool:
    if _is_about_itself(value, quoted=quoted):
        return False
    if told is Tells.ALL:
        if name.lower().lstrip(b"-") == b"pass" and value.isdigit():
            return False
        path = is_path(value)
        if path and (value.startswith((b"/", b"~", b".")) or name[:1] == b"-" or not tight):
            return False
        return len(value) >= 3
    if value.isdigit() or is_path(value) or b"://" in value:
        return False
    if told is Tells.MUCH:
        if tight or quoted:
            return len(value) >= 6 and (len(value) >= 8 or _has_digit_and_letter(value))
        return len(value) >= 8 and _has_digit_and_letter(value)
    return looks_random(value)


def _is_about_itself(value: bytes, *, quoted: bool) -> bool:
    """`password=args.password`, `token: my_token`: the value is a name for the secret again."""
    if quoted and b" " in value.strip():
        return value.count(b" ") > 2 and not _has_digit_and_letter(value)
    if not value.replace(b".", b"").replace(b"_", b"").replace(b"-", b"").isalpha():
        return False
    return tells(value) is not Tells.NOTHING or (
        not quoted and b"." in value.strip(b".") and value.islower()
    )


def _has_digit_and_letter(value: bytes) -> bool:
    return not value.isalpha() and any(0x30 <= c <= 0x39 for c in value) and not value.isdigit()
