"""Loops and streams that never end by themselves, and what they would use up."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ENDLESS, Stream
from redoma.judge.text.budget import spend
from redoma.model.decision import Effect
from redoma.model.script import (
    ArithmeticCommand,
    Assignment,
    Block,
    Case,
    For,
    ForArithmetic,
    If,
    Literal,
    Pipeline,
    Sequence,
    Simple,
    Test,
    While,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.interpret.walker import Walker
    from redoma.model.script import Command, Word

_STEADY = frozenset(": true false test [ echo printf sleep let pwd".split())
"""Programs whose answer to plain words is the same each time."""
_LEAVING = frozenset("break exit return sleep wait read exec kill timeout".split())
_COMPARES = re.compile(r"\s*+([A-Za-z_]\w*+)\s*+([<>!]=?)")
_SOURCES = frozenset("/dev/zero /dev/urandom /dev/random /dev/full".split())
_PASSING = frozenset(
    "cat tr tee base64 base32 xxd od hexdump rev fold pv nl gzip bzip2 xz zstd sed awk dd".split()
)
ENDLESS_OR_FILTER = _PASSING | {"yes"}


def judge_while(walker: Walker, node: While) -> None:
    """`while true`, `until [ a = b ]`, `while ! false`: a condition that never changes."""
    commands = node.condition.commands
    if commands and _steady(commands[-1]):
        _judge_body(walker, node.body)


def judge_counting(walker: Walker, node: ForArithmetic, expression: str) -> None:
    """`for ((;;))`, and one whose count moves away from its end."""
    _, _, rest = expression.partition(";")
    condition, _, step = rest.partition(";")
    compared = _COMPARES.match(condition)
    forever = not condition.strip() or condition.strip().isdigit()
    if compared is not None:
        name, way = compared.groups()
        moved = step.replace(" ", "")
        grows = any(each in moved for each in (f"{name}++", f"++{name}", f"{name}+="))
        shrinks = any(each in moved for each in (f"{name}--", f"--{name}", f"{name}-="))
        forever = (way[0] in ">!" and grows and "0" in condition) or (way[0] == "<" and shrinks)
    if forever:
        _judge_body(walker, node.body)


def _steady(command: Command) -> bool:
    if isinstance(command, Pipeline):
        return len(command.commands) <= 1 and all(map(_steady, command.commands))
    if isinstance(command, Test):
        return all(map(_plain, command.words))
    if isinstance(command, ArithmeticCommand):
        text = _text(command.expression)
        return text is not None and not any(char.isalpha() or char == "_" for char in text)
    if not isinstance(command, Simple) or command.assignments or not command.words:
        return False
    name = _text(command.words[0])
    if name is None or name.rpartition("/")[2] not in _STEADY:
        return False
    # `[ -f done ]` asks about a file, which may come.
    return all(_plain(word) for word in command.words[1:])


def _text(word: Word | Assignment) -> str | None:
    if isinstance(word, Assignment) or any(type(part) is not Literal for part in word.parts):
        return None
    return "".join(part.text for part in word.parts)  # type: ignore[union-attr]


def _plain(word: Word | Assignment) -> bool:
    text = _text(word)
    if text is None:
        return False
    return not (len(text) == 2 and text[0] == "-" and text[1] in "abcdefghkLNOpRrSstuvwxG")


def _judge_body(walker: Walker, body: Sequence) -> None:
    """Notes processes that an endless loop starts beside it, or a file that it only lengthens."""
    grows = None
    leaves = False
    for command, beside in _within(body):
        spend(8)
        if beside:
            walker.note(Effect.SYSTEM, command.span, tags=("spawning",))
            return
        if isinstance(command, Simple) and command.words:
            leaves = leaves or _text(command.words[0]) in _LEAVING
        if any(">>" in redirect.op for redirect in command.redirects):
            grows = command
    if grows is not None and not leaves:
        walker.note(Effect.SYSTEM, grows.span, tags=("fills",))


def _within(body: Sequence) -> Iterator[tuple[Command, bool]]:
    """Every command in a body, and whether it runs beside what follows it."""
    waiting: list[Command] = [body]
    while waiting:
        command = waiting.pop()
        yield command, False
        if isinstance(command, Sequence):
            for index, each in enumerate(command.commands):
                if index < len(command.after) and command.after[index] == "&":
                    yield each, True
            waiting += command.commands
        elif isinstance(command, Pipeline):
            waiting += command.commands
        elif isinstance(command, Block | While | For | ForArithmetic):
            waiting.append(command.body)
        elif isinstance(command, If):
            waiting += [each for _, each in command.clauses]
            waiting += [command.otherwise] if command.otherwise is not None else []
        elif isinstance(command, Case):
            waiting += [each for _, each in command.clauses]


def from_device(path: str) -> Stream | None:
    """What is read from a device that never ends."""
    return Stream(None, ENDLESS, path) if path in _SOURCES else None


def passed_on(call: Invocation, out: Stream) -> Stream:
    """The output with its mark: endless from `yes`, and from a filter of what is endless."""
    endless = call.name == "yes"
    if call.name in _PASSING and not (call.name == "dd" and "count=" in "\0".join(call.args)):
        endless = bool(call.stdin.taint & ENDLESS) or any(w in _SOURCES for w in call.args)
        endless = endless and not any(w[:2] in ("-n", "-N", "-l", "-e") for w in call.args)
    if endless == bool(out.taint & ENDLESS):
        return out
    return Stream(out.text, out.taint ^ ENDLESS, out.source)
