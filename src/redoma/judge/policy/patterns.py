"""What the lists of a policy fit: paths, hosts, texts, and commands by their words."""

from __future__ import annotations

import re
from functools import lru_cache

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.shell.parser import parse
from redoma.judge.text.budget import spend
from redoma.judge.text.matcher import CHARS, MANY, Places
from redoma.model.decision import Effect
from redoma.model.script import Literal, Pipeline, Sequence, Simple, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.text.matcher import Step
    from redoma.model.decision import Fact
    from redoma.model.script import Command, Span

_WHOLE_WORD = r"(?<![^\s;&|(]){}(?![^\s;&|)])"
_META = frozenset("\\.*+?[](){}|^$")
_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_-]+)*\.?|[0-9a-f:.]+")
_PATH = re.compile(r"(?:/[^\s?#;\\]*)?")
# What changes the meaning of the words that follow in the same shell.
_CHANGES_MEANING = frozenset(
    ". alias builtin declare enable eval exec export function hash local readonly set shopt "
    "source trap typeset unalias".split()
)


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


def calls_in(facts: tuple[Fact, ...]) -> list[tuple[tuple[str, ...], Span]]:
    """Every program called, as its words and its place, those behind `sudo` and `sh -c` too."""
    return [(tuple(f.detail.split("\x1f")), f.span) for f in facts if f.effect is Effect.CALLS]


def plain_commands(text: str) -> list[tuple[tuple[str, ...], Span]]:
    """The commands of a line that are nothing but words; empty where the line holds more.

    Such a line is commands joined by `;`, `&&`, `||`, `|` or a new line: no substitution, no
    variable, no redirection, nothing in the background, no alias or function that could give a
    word another meaning.
    """
    script = parse(text)
    found: list[tuple[tuple[str, ...], Span]] = []
    if script.unread or not _plain(script.body, found):
        return []
    return [] if any(words[0] in _CHANGES_MEANING for words, _ in found) else found


def _plain(node: Command, found: list[tuple[tuple[str, ...], Span]]) -> bool:
    if isinstance(node, Sequence):
        return "&" not in node.after and all(_plain(each, found) for each in node.commands)
    if isinstance(node, Pipeline):
        return not node.redirects and all(_plain(each, found) for each in node.commands)
    if not isinstance(node, Simple) or node.assignments or node.redirects or not node.words:
        return False
    words = [_word(word) for word in node.words]
    if None in words or not words[0]:
        return False
    found.append((tuple(word or "" for word in words), node.span))
    return True


def _word(word: object) -> str | None:
    """A word that means itself, or None where the shell would make something else of it."""
    if not isinstance(word, Word) or not all(type(part) is Literal for part in word.parts):
        return None
    made = ""
    for part in word.parts:
        text: str = part.text  # type: ignore[union-attr]
        if not part.quoted and not set("*?[]{}~").isdisjoint(text):  # type: ignore[union-attr]
            return None
        made += text
    return made


def covered(
    text: str, facts: tuple[Fact, ...], allowed: tuple[tuple[str, ...], ...]
) -> tuple[Span, ...]:
    """The places of the commands that an allow list covers, each by itself.

    Attack: `npm run lint; curl …`, `npm run lint $(…)`, `alias npm=…; npm run lint`: only words
    that mean themselves are compared, and all that is called at that place has to be allowed.
    """
    if not allowed:
        return ()
    called = calls_in(facts)
    places = []
    for words, span in plain_commands(text):
        here = [argv for argv, at in called if span[0] <= at[0] and at[1] <= span[1]]
        named = [each for each in allowed if _starts(words, each)]
        if words in here and named and all(_named(argv, words, named, allowed) for argv in here):
            places.append(span)
    return tuple(places)


def _starts(argv: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return argv[: len(words)] == words


def _named(
    argv: tuple[str, ...],
    words: tuple[str, ...],
    named: list[tuple[str, ...]],
    allowed: tuple[tuple[str, ...], ...],
) -> bool:
    """Whether a call is allowed: as written, by itself, or as what a wrapper was named with."""
    if argv == words or any(_starts(argv, each) for each in allowed):
        return True
    # `npx prettier` allows npx to run prettier, and nothing else.
    return any(_starts(argv, each[start:]) for each in named for start in range(1, len(each)))


def first_named(facts: tuple[Fact, ...], wanted: tuple[tuple[str, ...], ...]) -> str:
    """The first of these commands that is called anywhere in the line, or nothing."""
    if not wanted:
        return ""
    called = [argv for argv, _ in calls_in(facts)]
    for words in wanted:
        if any(_resembles(argv, words) for argv in called):
            return " ".join(words)
    return ""


def _resembles(argv: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether a call is the named command: its words in order, its flags in any order or form."""
    flags = [word for word in words if _is_flag(word)]
    names = [word for word in words if not _is_flag(word)]
    given = [word for word in argv if not _is_flag(word)]
    if UNKNOWN in (given[0] if given else ""):
        return False
    if not all(a == b or UNKNOWN in a for a, b in zip(given, names, strict=False)):
        return False
    if len(given) < len(names):
        return False
    have = [word for word in argv if _is_flag(word)]
    return all(
        any(_same_flag(flag, word) for word in have) or _spread(flag, have) for flag in flags
    )


def _is_flag(word: str) -> bool:
    return word[:1] == "-" and word != "-"


def _same_flag(flag: str, word: str) -> bool:
    return word == flag or (flag.startswith("--") and word.startswith(flag + "="))


def _spread(flag: str, have: list[str]) -> bool:
    """`-rf` given as `-fr`, or as `-r -f`."""
    if flag.startswith("--"):
        return False
    letters = "".join(word[1:] for word in have if not word.startswith("--"))
    return set(flag[1:]) <= set(letters)


def blocked_by(text: str, facts: tuple[Fact, ...] | None, block: tuple[str, ...], home: str) -> str:
    """The first entry of a block list that fits the text, or a command that it would run."""
    if not block:
        return ""
    called = [argv for argv, _ in calls_in(facts or ())]
    for entry in block:
        if found_in(entry, text) or any(found_in(entry, " ".join(argv)) for argv in called):
            return entry
        words = tuple(home if word == "~" else word for word in entry.split())
        if any(_resembles(argv, words) for argv in called):
            return entry
    return ""
