"""Compares a request with the rules for methods and paths of its host.

Attack: `/repos/..%2fadmin` is below `/repos` to one reader, and `/admin` to another. So a path is
read in every way that servers are known to read it, and each of these has to be granted.
"""

from __future__ import annotations

import re
from functools import lru_cache

from redoma.model.network import MANY_READINGS, REQUEST_NOT_GRANTED, SMALL_METHOD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.model.network import HostRule

_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")
# A dot or a slash written in more bytes than it needs, which some decode all the same.
_OVERLONG = re.compile("[\xc0\xc1]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]")
_SLASHES = re.compile(r"/{2,}")
_PARAMETERS = re.compile(r";[^/]*")
_QUERY = re.compile(r"[?#].*", re.S)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LOOK_ALIKES = str.maketrans(
    {"∕": "/", "⁄": "/", "⧸": "/", "∖": "\\", "⧵": "\\", "。": ".", "․": "."}
)
# Each further round of escapes is one more server behind another; nobody writes more.
_ROUNDS = 3
_MOST_READINGS = 100
_LONGEST, _LONGEST_SHOWN = 4096, 500
# Headers by which a request has itself taken for another one, by servers that obey them.
_OVERRIDES = frozenset(
    "x-http-method x-http-method-override x-method-override x-original-method x-forwarded-method"
    " x-original-url x-original-uri x-rewrite-url x-forwarded-uri".split()
)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def granting(rules: Iterable[HostRule], method: str, target: str) -> tuple[HostRule | None, str]:
    """The rule that grants a request, or why none does."""
    rules = list(rules)
    fit = [rule for rule in rules if not rule.methods or _method_fits(method, rule.methods)]
    if not fit and method != method.upper():
        return None, SMALL_METHOD
    whole = next((rule for rule in fit if not rule.path), None)
    if whole is not None:
        return whole, ""
    path = target.partition("?")[0]
    found = readings(path) if len(path) <= _LONGEST else ()
    by = [next((rule for rule in fit if matches(rule.path, each)), None) for each in found]
    if by and all(rule is not None for rule in by):
        return by[0], ""
    # What is written as it is meant has one reading.
    return None, MANY_READINGS if any(by) or not by else REQUEST_NOT_GRANTED


def overridden(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a header names another method or path than the request's own.

    Attack: `GET /granted` with `X-HTTP-Method-Override: DELETE`, or `X-Original-URL: /admin`.
    """
    # Behind many servers a dash and an underscore are the same.
    return any(name.decode("latin-1").replace("_", "-") in _OVERRIDES for name, _ in fields)


def _method_fits(method: str, methods: tuple[str, ...]) -> bool:
    """A HEAD tells less than the GET that it stands for."""
    return method in methods or (method == "HEAD" and "GET" in methods)


def readings(path: str) -> tuple[str, ...]:
    """Every way to read a path, the plainest first; none where there are too many.

    Attack: of two servers in a row the first takes off what the second has not decoded yet, as in
    `/repos/a%2fb/../..%2fadmin`. So whatever one of them makes of it is read again by the next.
    """
    if _BROKEN.search(path):
        return ()  # `%u002e` is a dot to some
    found: dict[str, None] = {}
    unread = [_ESCAPED.sub(_plain, path)]
    for _ in range(_ROUNDS):
        here = dict.fromkeys(unread)
        for text in (waiting := list(here)):
            for other in _rewritten(text):
                if other not in here:
                    here[other] = None
                    waiting.append(other)
            if len(found) + len(here) > _MOST_READINGS:
                return ()
        found |= here
        decoded = (_ESCAPED.sub(lambda match: chr(int(match[1], 16)), each) for each in here)
        unread = list(dict.fromkeys(each for each in decoded if each not in found))
        if not unread:
            break
    else:
        return ()
    # What ends early for whoever reads C strings or lines is nobody's path.
    if any(_CONTROL.search(e) or not e.startswith("/") or _OVERLONG.search(e) for e in found):
        return ()
    return tuple(found)


def _rewritten(path: str) -> tuple[str, ...]:
    """What servers are known to make of a path before they look at it."""
    return (
        path.replace("\\", "/"),
        _PARAMETERS.sub("", path),
        _SLASHES.sub("/", path),
        _without_dots(path),
        # A query or a fragment for whoever decodes first and looks for them then.
        _QUERY.sub("", path),
        # A name without its end: some file systems know no blanks or dots there.
        "/".join(_trimmed(segment) for segment in path.split("/")),
        *(() if path.isascii() else _in_ascii(path)),
    )


def _trimmed(segment: str) -> str:
    """A part of a path without blanks around it and dots behind it; of dots alone the one above."""
    if not segment.strip(". "):
        return segment if segment in ("", ".", "..") else ".." if "." in segment else ""
    return segment.lstrip(" ").rstrip(". ")


def _in_ascii(path: str) -> tuple[str, ...]:
    """What is left of letters of other alphabets where they are normalised, or cut to a byte."""
    from unicodedata import category, normalize

    try:
        text = path.encode("latin-1").decode()
    except UnicodeError:
        return ()
    shown = "".join(char for char in text if category(char) != "Cf")
    folded = normalize("NFKC", shown).translate(_LOOK_ALIKES)
    cut = "".join(chr(ord(char) & 0xFF) if ord(char) > 0xFF else char for char in text)
    return tuple(each.encode().decode("latin-1") for each in (shown, folded, cut))


def _plain(match: re.Match[str]) -> str:
    """Escapes that mean nothing are taken off; the others are written in one way."""
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()


def _without_dots(path: str) -> str:
    made: list[str] = []
    segments = path.split("/")[1:]
    for at, segment in enumerate(segments):
        last = at == len(segments) - 1
        if segment == "..":
            if made:
                made.pop()
        elif segment != ".":
            made.append(segment)
            continue
        if last:
            made.append("")
    return "/" + "/".join(made)


def matches(pattern: str, path: str) -> bool:
    """Whether a path is one of a pattern's: `*` is one part of it, `**` any number of parts.

    Attack: an expression that goes back over a long path again and again would stop the gate, and
    with it the clock of the run. Here it goes back to the last `**` only, which is enough.
    """
    if not path.startswith("/"):
        return False
    wanted, given = _segments(pattern), path.split("/")[1:]
    at = here = begun = 0
    any_number = -1
    while here < len(given):
        if at < len(wanted) and wanted[at] == "**":
            any_number, begun = at, here
            at += 1
        elif at < len(wanted) and _segment_fits(wanted[at], given[here]):
            at, here = at + 1, here + 1
        elif any_number >= 0:
            begun += 1
            at, here = any_number + 1, begun
        else:
            return False
    return all(each == "**" for each in wanted[at:])


@lru_cache(maxsize=256)
def _segments(pattern: str) -> tuple[str, ...]:
    return tuple(_ESCAPED.sub(_plain, pattern).split("/")[1:])


def _segment_fits(wanted: str, given: str) -> bool:
    first, *rest = wanted.split("*")
    if not rest:
        return given == first
    last = rest.pop()
    at, end = len(first), len(given) - len(last)
    if at > end or not given.startswith(first) or not given.endswith(last):
        return False
    for part in rest:
        at = given.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def shown(target: str) -> str:
    """A path and the names in its query; values may be secrets, and are left out."""
    path, question, query = target.partition("?")
    if not question:
        return path[:_LONGEST_SHOWN]
    names = [each.partition("=") for each in query.split("&")]
    told = "&".join(f"{name[:64]}=…" if equals else "…" for name, equals, _ in names[:32] if name)
    return f"{path[:_LONGEST_SHOWN]}?{told}"
