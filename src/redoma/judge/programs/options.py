"""Splits a program's words into options, their values and operands, as its card says."""

from __future__ import annotations

from functools import lru_cache

from redoma.judge.interpret.arg import Arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Card = dict[str, object]


_TRIALS = frozenset("--dry-run --dryrun --simulate --noop --just-print --check".split())
_OFF = frozenset("false 0 no off none f n".split())


class ProgramOptions:
    """What was given: each option with its values, the operands, and words read two ways."""

    __slots__ = ("doubtful", "given", "operands", "order", "perhaps", "rest")

    def __init__(self) -> None:
        self.given: dict[str, list[Arg | None]] = {}
        self.order: list[tuple[str, Arg | None, Arg]] = []
        self.operands: list[Arg] = []
        self.doubtful: set[int] = set()
        """Indexes of operands that may be the value of an option nobody knows."""
        self.perhaps: set[int] = set()
        """The same after a letter nobody knows: most letters are switches."""
        self.rest: list[Arg] | None = None
        """What stood after `--`."""

    def add(self, name: str, value: Arg | None, word: Arg) -> None:
        self.given.setdefault(name, []).append(value)
        self.order.append((name, value, word))

    def has(self, *names: str) -> bool:
        return any(name in self.given for name in names)

    def values(self, *names: str) -> list[Arg]:
        """The values of the named options, in the order they were given."""
        wanted = frozenset(names)
        return [value for name, value, _ in self.order if name in wanted and value is not None]

    def value(self, *names: str) -> Arg | None:
        found = self.values(*names)
        return found[-1] if found else None


def split(
    words: list[Arg],
    takes: frozenset[str],
    known: frozenset[str] = frozenset(),
    *,
    long: bool = False,
    stops: bool = False,
    optional: frozenset[str] = frozenset(),
) -> ProgramOptions:
    """Reads `words`; `takes` need a value, `optional` take one only when attached.

    `long` means that one dash begins a whole name (`terraform -auto-approve`); `stops` means
    that the first operand ends the options, as for wrappers.
    """
    out = ProgramOptions()
    index = 0
    count = len(words)
    while index < count:
        word = words[index]
        index += 1
        if word == "--":
            out.rest = words[index:]
            out.operands.extend(out.rest)
            break
        if word[:1] != "-" or word == "-":
            out.operands.append(word)
            if stops:
                out.operands.extend(words[index:])
                break
            continue
        if word.startswith("--") or long:
            index = _long(word, words, index, takes, known | optional, out)
        else:
            index = _bundle(word, words, index, takes, optional, out)
            if index < count and "-" + word[-1] not in known:
                out.perhaps.add(len(out.operands))
    return out


@lru_cache(maxsize=256)
def _meant(name: str, takes: frozenset[str], known: frozenset[str]) -> str:
    """GNU reads any unambiguous beginning: `--rec` is `--recursive`."""
    meant = {full for full in (*takes, *known) if full.startswith(name)}
    return meant.pop() if len(meant) == 1 else name


def _long(
    word: Arg,
    words: list[Arg],
    index: int,
    takes: frozenset[str],
    known: frozenset[str],
    out: ProgramOptions,
) -> int:
    name, equals, attached = word.partition("=")
    if name not in takes and name not in known and name.startswith("--") and len(name) > 4:
        name = _meant(name, takes, known)
    # Attack: `--dry-run=false` looks like a trial and is none.
    if equals and name in _TRIALS and attached.lower() in _OFF:
        return index
    if equals:
        out.add(name, word.like(attached), word)
        return index
    if name in takes:
        value = words[index] if index < len(words) else None
        out.add(name, value, word)
        return index + 1
    out.add(name, None, word)
    if name not in known and index < len(words):
        following = words[index]
        if following[:1] != "-":
            out.doubtful.add(len(out.operands))
    return index


def _bundle(
    word: Arg,
    words: list[Arg],
    index: int,
    takes: frozenset[str],
    optional: frozenset[str],
    out: ProgramOptions,
) -> int:
    for position in range(1, len(word)):
        name = "-" + word[position]
        if name in takes:
            attached = word[position + 1 :]
            if attached:
                out.add(name, word.like(attached.removeprefix("=")), word)
                return index
            value = words[index] if index < len(words) else None
            out.add(name, value, word)
            return index + 1
        if name in optional:
            attached = word[position + 1 :]
            out.add(name, word.like(attached) if attached else None, word)
            return index
        out.add(name, None, word)
    return index


if TYPE_CHECKING:
    Handler = Callable[..., object]
