"""Reads the options of git's subcommands as git does: shortened, negated, attached."""

from __future__ import annotations

from redoma.judge.interpret.arg import Arg
from redoma.judge.programs.options import Options, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.programs.git_verb import Verb

_NONE: frozenset[str] = frozenset()


def read(verb: Verb, *, stops: bool = False) -> Options:
    """A subcommand's words; `--har` is `--hard`, and `--no-x` takes `--x` back."""
    card = verb.call.walker.knowledge.cards.get(f"git {verb.name}", {})
    takes, attached = card.get("takes", _NONE), card.get("optional", _NONE)
    known = card.get("known", _NONE) | attached
    words = verb.words
    full: list[Arg] = []
    for index, word in enumerate(words):
        if word == "--":
            full.extend(words[index:])
            break
        full.append(word.like(_whole(word, known)) if word.startswith("--") else word)
    options = split(
        full, takes, known | {f"--no-{name[2:]}" for name in known}, optional=attached, stops=stops
    )
    for name in list(options.given):
        if name.startswith("--no-") and name not in known:
            _take_back(options, name)
    return options


def _whole(word: str, known: frozenset[str]) -> str:
    name, equals, value = word.partition("=")
    if name in known or name == "--help" or len(name) < 3:
        return word
    negated = name.startswith("--no-")
    stem = f"--{name[5:]}" if negated else name
    meant = [each for each in known if each.startswith(stem)]
    if stem in meant or len(meant) != 1 or len(stem) < 3:
        return word
    return (f"--no-{meant[0][2:]}" if negated else meant[0]) + equals + value


_SHORT = {
    "--staged": "-S",
    "--worktree": "-W",
    "--force": "-f",
    "--patch": "-p",
    "--dry-run": "-n",
    "--quiet": "-q",
    "--delete": "-d",
    "--interactive": "-i",
    "--detach": "-d",
    "--track": "-t",
}


def _take_back(options: Options, negation: str) -> None:
    """`--no-staged` after `--staged` leaves nothing; before it, nothing is taken back."""
    name = f"--{negation[5:]}"
    names = (name, _SHORT.get(name, name))
    last = max((i for i, (n, _, _) in enumerate(options.order) if n == negation), default=-1)
    for each in names:
        later = [i for i, (n, _, _) in enumerate(options.order) if n == each and i > last]
        if each in options.given and not later:
            del options.given[each]
