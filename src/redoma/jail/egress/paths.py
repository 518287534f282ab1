"""Compares a request with the rules for methods and paths of its host.

Attack: `/repos/..%2fadmin` is below `/repos` to one reader, and `/admin` to another. So a path is
read in every way that servers are known to read it, and each of these has to be granted.
"""

from __future__ import annotations

import re
from functools import lru_cache

from redoma.model.network import MANY_READINGS, REQUEST_NOT_GRANTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.model.network import HostRule

_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_SLASHES = re.compile(r"/{2,}")
_PARAMETERS = re.compile(r";[^/]*")
# Each further round of escapes is one more server behind another; nobody writes more.
_ROUNDS = 3
_LONGEST, _LONGEST_SHOWN = 4096, 500
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def granting(rules: Iterable[HostRule], method: str, target: str) -> tuple[HostRule | None, str]:
    """The rule that grants a request, or why none does."""
    fit = [rule for rule in rules if not rule.methods or _method_fits(method, rule.methods)]
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


def _method_fits(method: str, methods: tuple[str, ...]) -> bool:
    """A HEAD tells less than the GET that it stands for."""
    return method in methods or (method == "HEAD" and "GET" in methods)


def readings(path: str) -> tuple[str, ...]:
    """Every way to read a path, the plainest first; none where there are too many."""
    found: dict[str, None] = {}
    decoded = _ESCAPED.sub(_plain, path)
    for _ in range(_ROUNDS):
        for text in (decoded, decoded.replace("\\", "/")):
            for without in (text, _PARAMETERS.sub("", text)):
                for merged in (without, _SLASHES.sub("/", without)):
                    found[merged] = None
                    found[_without_dots(merged)] = None
        again = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), decoded)
        if again == decoded:
            break
        decoded = again
    else:
        return ()
    # A path that ends early for whoever reads C strings is nobody's.
    if any("\0" in each or not each.startswith("/") for each in found):
        return ()
    return tuple(found)


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
    """Whether a path is one of a pattern's: `*` is one part of it, `**` any number of parts."""
    return _compiled(pattern).match(path) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    made = ""
    for segment in _ESCAPED.sub(_plain, pattern).split("/")[1:]:
        if segment == "**":
            made += "(?:/[^/]*)*"
        else:
            made += "/" + "[^/]*".join(re.escape(part) for part in segment.split("*"))
    return re.compile(f"{made}\\Z", re.S)


def shown(target: str) -> str:
    """A path and the names in its query; values may be secrets, and are left out."""
    path, question, query = target.partition("?")
    if not question:
        return path[:_LONGEST_SHOWN]
    names = [each.partition("=") for each in query.split("&")]
    told = "&".join(f"{name[:64]}=…" if equals else "…" for name, equals, _ in names[:32] if name)
    return f"{path[:_LONGEST_SHOWN]}?{told}"
