"""Follows a card: the table that says what a program's subcommands, options and operands do.

A card is data (see `cards/*.yaml`), read once and kept compiled. Its keys:

`takes`      options that need a value; `switches`: known options without one
`flags`      option → what its value or presence means: `value`, `read`, `write`, `delete`,
             `shell`, `program`, `host`, `send`, `sql`, `code LANGUAGE`, `action NAME`, `only NAME`
`actions`      action → subcommand patterns ("get secret*", "push --force", "** list")
`operands`   what plain words are: `data`, `read`, `write`, `delete`, `host`, `execute`, `shell`
`bare`       the action without operands; `otherwise`: the action when no pattern fits
`inner`      a number: that many operands, then a command of its own (a wrapper)
`rest`       words such as `--` or `-c` behind which a command of its own stands
`copies`     without options its output is its input, word for word (`cat`)
`long`       one dash begins a whole name; `stops`: the first operand ends the options
"""

from __future__ import annotations

import sys

from redoma.judge.interpret.arg import NOTHING, UNKNOWN, Arg, Stream
from redoma.judge.programs.card_actions import do, says_it_destroys, worst
from redoma.judge.programs.carried import judge_carried, judge_code, judge_telling
from redoma.judge.programs.options import ProgramOptions, split
from redoma.judge.text.budget import Uncounted
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.judge.interpret.invocation import Invocation

    Card = dict[str, Any]

_NONE: frozenset[str] = frozenset()
_functions: dict[str, Callable[..., Any]] = {}
DEEPEST = 6
"""How many words down a subcommand may stand."""
_CARRYING = frozenset(("unknown", "exec", "run", "build", "container", "remote"))
"""Actions behind which a command of its own may stand."""
_SETTINGS = Stream(":")
"""Stands for what a program prints for `eval`: a text that does nothing."""
_LOOKING = frozenset(("read", "cache", "write"))
_COMPLETIONS = frozenset(
    "completion completions shell-completion generate-shell-completion shellenv".split()
)
_EVALUATING = frozenset("eval ev php:eval runner execute run-code repl".split())
"""Subcommands that are given code."""
_OFF = frozenset(("false", "no", "none", "off", "0", "n", "f", "never"))


def card_of(call: Invocation) -> Card:
    """The card of the program that is called."""
    card: Card = call.walker.knowledge.cards[call.name]
    return card


def card_named(call: Invocation, name: str) -> Card:
    """Another card: of a subcommand with options of its own (`docker run`)."""
    card: Card = call.walker.knowledge.cards[name]
    return card


def function_named(named: str) -> Callable[..., Any]:
    """The function that a card names: `files.rm` is `rm` in the module `files` of this package."""
    found = _functions.get(named)
    if found is None:
        module, _, function = named.partition(".")
        path = f"redoma.judge.programs.{module}"
        with Uncounted():
            __import__(path)  # also where it is there: another thread may be half-way through it
        found = _functions[named] = getattr(sys.modules[path], function)
    return found


def card_words(call: Invocation, name: str, card: str = "") -> frozenset[str]:
    """A list of words that the program's card, or the one named, keeps for handlers."""
    held = card_named(call, card) if card else card_of(call)
    found: frozenset[str] = held.get("words", {}).get(name, _NONE)
    return found


def options_of(
    call: Invocation, words: list[Arg] | None = None, card: Card | None = None
) -> ProgramOptions:
    """The call's words, or others in their place, read as its card says."""
    card = card_of(call) if card is None else card
    return split(
        call.args if words is None else words,
        card.get("takes", _NONE),
        card.get("known", _NONE),
        long=card.get("long", False),
        stops=card.get("stops", False) or "inner" in card,
        optional=card.get("optional", _NONE),
    )


def follow(call: Invocation, card: Card | None = None) -> Stream:
    """Notes everything the card knows about this call."""
    card = card_of(call) if card is None else card
    inner = _behind(call, card)
    options = options_of(call, card=card)
    streams: list[Stream] = [call.stdin]
    only = _follow_flags(call, card, options, streams)
    if only is not None:
        do(call, only)
        return _SETTINGS if only == "setup" else call.passes_on(*streams)
    if "inner" in card:
        return _follow_inner(call, card, options)
    actions = card.get("actions")
    action = str(card.get("otherwise", ""))
    if actions is not None:
        action = _told(card, action_of(card, options), options)
        detail = " ".join(str(o).replace(UNKNOWN, "…") for o in options.operands[:3])
        if action in _LOOKING and operands_say_setup(options.operands):
            action = "setup"
        do(call, action, detail=detail or call.name)
        _carried(call, card, action, call.args[1:])
    operands = options.operands
    kind = card.get("operands", "data")
    if kind != "data":
        skip = card.get("skip", 0)
        for word in operands[skip:]:
            _follow_operand(call, kind, word, streams)
    if actions is None and not call.args and card.get("bare"):
        do(call, card["bare"])
    elif actions is None and card.get("otherwise"):
        do(call, card["otherwise"])
        _carried(call, card, card["otherwise"], call.args)
    if action == "setup":
        return _SETTINGS
    if inner:
        return call.run_args(inner)
    if card.get("copies") and not options.given:
        sources = streams[1:] if operands else streams
        if len(sources) == 1:
            return sources[0]
    return call.passes_on(*streams)


_RUNS = frozenset(("exec", "run", "build", "container", "unknown", "forward", "serve"))


def operands_say_setup(operands: list[Arg]) -> bool:
    """Whether a subcommand prints what shells are to read: `kubectl completion bash`."""
    return bool(operands) and operands[0] in _COMPLETIONS


def _carried(call: Invocation, card: Card, action: str, words: list[Arg]) -> None:
    """Reads the command lines and the code among the words of a program that may run them."""
    if action in _CARRYING and words:
        judge_carried(call, words)
        judge_telling(call, words, card.get("flags", _NONE))
        if action == "exec" or call.args[0] in _EVALUATING:
            judge_code(call, words)


def _behind(call: Invocation, card: Card) -> list[Arg]:
    """Takes the command behind a mark such as `--` or `-c` out of the words."""
    marks = card.get("rest")
    if marks is not None:
        for index, word in enumerate(call.args):
            if word == "--" and word not in marks:
                break
            if word in marks:
                inner = call.args[index + 1 :]
                call.args = call.args[:index]
                return inner
    return []


def _told(card: Card, action: str, options: ProgramOptions) -> str:
    """The action after `--help` and after verbs that the card does not list have been seen."""
    asked = "--help" in options.given or options.given.get("-h") == [None]
    if asked and action not in _RUNS:
        return "read"
    if action in ("unknown", "remote") and action == card.get("otherwise", "unknown"):
        return "destroy" if says_it_destroys(options.operands) else action
    return action


def _follow_inner(call: Invocation, card: Card, options: ProgramOptions) -> Stream:
    words = options.operands[card["inner"] :]
    if not words:
        do(call, card.get("bare", "unknown"))
        return NOTHING
    if card.get("around"):
        do(call, card["around"])
    return call.run_args(words)


def _follow_operand(call: Invocation, kind: str, word: Arg, streams: list[Stream]) -> None:
    if kind == "read":
        streams.append(call.reads(word))
    elif kind == "write":
        call.writes(word)
    elif kind == "delete":
        call.deletes(word)
    elif kind == "host":
        call.host(word)
    elif kind == "shell":
        streams.append(call.run_shell(word))
    elif kind == "execute":
        streams.append(call.executes_file(word))


def _follow_flags(
    call: Invocation, card: Card, options: ProgramOptions, streams: list[Stream]
) -> str | None:
    flags = card.get("flags")
    only: str | None = None
    if not flags:
        return None
    for name, value, word in options.order:
        means = flags.get(name)
        if means is None or means == "value":
            continue
        kind, _, detail = means.partition(" ")
        if kind == "only":
            # Attack: `--dry-run=false` is no dry run.
            only = None if value is not None and value.lower() in _OFF else detail
        elif kind == "action":
            do(call, detail, detail=str(word))
        elif value is not None:
            _follow_value(call, kind, detail, value, streams)
    return only


def _follow_value(
    call: Invocation, kind: str, detail: str, value: Arg, streams: list[Stream]
) -> None:
    if kind == "read":
        streams.append(call.reads(value.like(value.removeprefix("@"))))
    elif kind == "write":
        if value[:1] == "|":
            # `strace -o '|command'`, and others: what would be a file is a pipe.
            call.fact(Effect.EXECUTES, tags=("flag",), at=value.span)
            call.run_shell(value.like(value[1:]))
        elif value != "-":
            call.writes(value)
    elif kind == "delete":
        call.deletes(value)
    elif kind == "shell":
        call.fact(Effect.EXECUTES, tags=("flag",), at=value.span)
        call.run_shell(value)
    elif kind == "program":
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=value.span)
        call.run_shell(value)
    elif kind == "host":
        call.host(value)
    elif kind == "send":
        call.sends(value.taint | call.stdin.taint, value)
    elif kind in ("sql", "code"):
        from redoma.judge.programs.knowledge import read_code

        read_code(call, "sql" if kind == "sql" else detail, value)


def action_of(card: Card, options: ProgramOptions) -> str:
    """The action of the pattern that fits best; the worst one where a word can be read two ways."""
    readings = [options.operands]
    for index in sorted(options.doubtful)[:4]:
        if index < 8:
            readings.append([w for i, w in enumerate(options.operands) if i != index])
    if len(readings) > 2:
        readings.append([w for i, w in enumerate(options.operands) if i not in options.doubtful])
    found: list[str] = []
    for operands in readings:
        found.append(_best(card, operands, options))
    if 0 in options.perhaps and len(options.operands) > 1:
        # Attack: `tool -x value delete …` with a letter the card does not list.
        found.append(_best(card, options.operands[1:], options, otherwise="read"))
    return found[0] if len(found) == 1 else worst(found)


def _best(card: Card, operands: list[Arg], options: ProgramOptions, *, otherwise: str = "") -> str:
    if not operands and card.get("bare"):
        best, score = [card["bare"]], 0
    else:
        best, score = [], -1
    for words, flags, action in _candidates(card, operands):
        if flags and not all(_given(flag, options) for flag in flags):
            continue
        depth = fits(words, operands)
        if depth < 0:
            continue
        points = depth * 4 + len(flags) * 2
        if points > score:
            best, score = [action], points
        elif points == score:
            best.append(action)
    if not best:
        if operands and UNKNOWN in operands[0]:
            return "unknown"
        return otherwise or str(card.get("otherwise", "unknown"))
    return best[0] if len(best) == 1 else worst(best)


def _candidates(card: Card, operands: list[Arg]) -> list[Any]:
    """The patterns that can fit at all: those of the first word, and those with a glob there."""
    index = card.get("index")
    if index is None:
        index = card["index"] = {}
        for pattern in card["actions"]:
            words = pattern[0]
            first = words[0] if words else "*"
            key = "" if "*" in first else first
            if first == "**" and len(words) > 1 and "*" not in words[1]:
                key = "** " + words[1]
            index.setdefault(key, []).append(pattern)
    found: list[Any] = list(index.get("", ()))
    if operands:
        found += index.get(str(operands[0]), ())
        for operand in operands[:DEEPEST]:
            found += index.get(f"** {operand}", ())
    return found


def _given(flag: str, options: ProgramOptions) -> bool:
    if flag[-1] != "*":
        return flag in options.given
    return any(name.startswith(flag[:-1]) for name in options.given)


def fits(words: tuple[str, ...], operands: list[Arg]) -> int:
    """How many words of a pattern say something of the operands; -1 where it does not fit."""
    if words and words[0] == "**":
        rest = words[1:]
        for start in range(min(len(operands), DEEPEST)):
            depth = fits(rest, operands[start:])
            if depth >= 0:
                return depth
        return -1
    if len(words) > len(operands):
        return -1
    depth = 0
    for pattern, operand in zip(words, operands, strict=False):
        if pattern == "*":
            continue
        if pattern[-1] == "*":
            if not operand.startswith(pattern[:-1]):
                return -1
        elif pattern[0] == "*":
            if not operand.endswith(pattern[1:]):
                return -1
        elif pattern != operand:
            return -1
        depth += 1
    return depth
