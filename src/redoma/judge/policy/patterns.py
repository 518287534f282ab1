"""Patterns of paths, hosts and texts: what they fit, and which are refused as no pattern at all."""

from __future__ import annotations

import re
from functools import lru_cache

from redoma.judge.text.budget import spend
from redoma.judge.text.matcher import CHARS, MANY, Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.text.matcher import Step

_WHOLE_WORD = r"(?<![^\s;&|(]){}(?![^\s;&|)])"
_META = frozenset("\\.*+?[](){}|^$")
_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_-]+)*\.?|[0-9a-f:.]+")
_PATH = re.compile(r"(?:/[^\s?#;\\]*)?")


def expanded(pattern: str, workspace: str, home: str) -> str:
    """A path as the policy means it: `~` and `${PROJECT_ROOT}` replaced, made absolute."""
    made = pattern.replace("${PROJECT_ROOT}", workspace)
    if made == "~" or made.startswith("~/"):
        made = home + made[1:]
    if not made.startswith("/"):
        made = f"{workspace}/{made}"
    while made.startswith("//"):
        made = made[1:]
    return made.rstrip("/") or "/"


def within(path: str, pattern: str) -> bool:
    """Whether an absolute path is what a pattern names, or lies below that."""
    if pattern == "/":
        return True
    steps = _path_pattern(pattern)
    if steps is None:
        spend(1)
        return path == pattern or path.startswith(f"{pattern}/")
    places = Places(path)
    ends = places.ends(steps, 1)
    # It may end where the path does, or before a slash of it.
    return bool(ends & (places.where(_is_slash) | 1 << places.size))


def above(path: str, pattern: str) -> bool:
    """Whether what a pattern names lies below a path, so that taking the path takes it too."""
    start = path.rstrip("/*") + "/"
    return pattern.startswith(start)


@lru_cache(maxsize=512)
def _path_pattern(pattern: str) -> list[Step] | None:
    """A pattern of paths as steps; None where it is a path as it stands."""
    if "*" not in pattern and "?" not in pattern:
        return None
    made: list[Step] = []
    place = 0
    while place < len(pattern):
        if pattern.startswith("**", place):
            made.append((MANY, None))
            place += 2
            continue
        if pattern[place] == "*":
            made.append((MANY, _is_no_slash))
        elif pattern[place] == "?":
            made.append((CHARS, _is_no_slash))
        else:
            made.append((CHARS, pattern[place].__eq__))
        place += 1
    return made


def _is_slash(char: str) -> bool:
    return char == "/"


def _is_no_slash(char: str) -> bool:
    return char != "/"


def request_of(entry: str) -> tuple[tuple[str, ...], str, str]:
    """The methods, the host and the path of an entry such as `GET api.example.org/repos/**`."""
    methods, space, rest = entry.strip().partition(" ")
    if not space:
        methods, rest = "", entry.strip()
    host, slash, path = rest.strip().partition("/")
    return tuple(methods.split(",") if methods else ()), host.lower(), slash + path


def covers_request(entry: str, other: str) -> bool:
    """Whether an entry grants every request that another grants, both of them to fitting hosts."""
    methods, _, path = request_of(entry)
    asked, _, place = request_of(other)
    if methods and not (asked and set(asked) <= set(methods)):
        return False
    return not path or path == place


def host_fits(host: str, pattern: str) -> bool:
    """Whether a host is the one named, or for `*.name` one below it."""
    host, pattern = host.rstrip("."), request_of(pattern)[1].rstrip(".")
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern


def host_problem(pattern: str) -> str:
    """Why a text cannot stand in a list of hosts, or nothing."""
    methods, lowered, path = request_of(pattern)
    if any(not (each.isascii() and each.isalpha() and each.isupper()) for each in methods):
        return "does not begin with methods: GET, or GET,HEAD"
    if "://" in pattern or not _PATH.fullmatch(path):
        return "is not a host name: no scheme or port"
    if "/" in lowered or ("@" in lowered) or (lowered.count(":") == 1):
        return "is not a host name: no scheme or port"
    if lowered in ("*", "*.", "**"):
        return "would allow every host"
    if lowered.startswith("*.") and "." not in lowered[2:].rstrip("."):
        return "is too broad: it would allow every host below one ending"
    if _HOST.fullmatch(lowered) is None:
        return "is not a host name"
    return ""


def is_expression(text: str) -> bool:
    """Whether a text of a block list is a regular expression rather than plain words."""
    return not _META.isdisjoint(text)


def found_in(entry: str, text: str) -> bool:
    """Whether an entry of a block list stands in a text; plain words are found as whole words."""
    if is_expression(entry):
        from redoma.judge.text.regex import expression

        return expression(entry).finds(text)
    spend(4 + len(text) // 8)
    return _words_pattern(entry).search(text) is not None


@lru_cache(maxsize=512)
def _words_pattern(text: str) -> re.Pattern[str]:
    # The blanks between words are possessive: each is looked at once.
    spaced = r"\s++".join(map(re.escape, text.split()))
    return re.compile(_WHOLE_WORD.format(spaced))


def expression_problem(text: str) -> str:
    """Why an entry of a block list cannot be used, or nothing."""
    if not is_expression(text):
        return ""
    from redoma.judge.text.regex import problem

    return problem(text)
