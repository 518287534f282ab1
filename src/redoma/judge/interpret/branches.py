"""Compound commands: every branch is walked, since nobody knows which one will run."""

from __future__ import annotations

from redoma.judge.interpret.arg import (
    ANYTHING,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Stream,
    any_of,
    arg,
    joined,
)
from redoma.judge.interpret.call import Call
from redoma.judge.interpret.inputs import condition
from redoma.judge.interpret.variables import judge_steering
from redoma.model.risk import Effect
from redoma.model.script import (
    ArithmeticCommand,
    Block,
    Case,
    Coprocess,
    For,
    ForArithmetic,
    Function,
    If,
    Sequence,
    Simple,
    Test,
    While,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walk import Walker
    from redoma.model.script import Command


MOST_ROUNDS = 6


def compound(walker: Walker, node: Command, state: State, stdin: Stream) -> Stream:
    """Walks one compound command, its redirections already open."""
    if isinstance(node, Block):
        return walker.sequence(node.body, state.copy() if node.subshell else state, stdin)
    if isinstance(node, If):
        return _conditional(walker, node, state, stdin)
    if isinstance(node, While):
        before = state.copy()
        if _endless(node.condition):
            _no_endless_spawning(walker, node.body)
        walker.sequence(node.condition, state, stdin)
        out = walker.sequence(node.body, state, stdin)
        state.blur(before)
        return out
    if isinstance(node, For):
        return _loop(walker, node, state, stdin)
    if isinstance(node, ForArithmetic):
        expression = walker.expander.one(node.expression, state)
        walker.expander.arithmetic(node.expression, state)
        if ";;" in expression.replace(" ", ""):
            _no_endless_spawning(walker, node.body)
        return walker.sequence(node.body, state, stdin)
    if isinstance(node, Case):
        return _cases(walker, node, state, stdin)
    if isinstance(node, Function):
        state.functions[node.name] = node
        walker.uncalled[node.name] = (node, state)
        return NOTHING
    if isinstance(node, Coprocess):
        return _coprocess(walker, node, state)
    if isinstance(node, Test):
        words = [walker.expander.one(word, state) for word in node.words]
        condition(Call(walker, [arg("[[", node.span), *words], state, stdin, {}, node.span))
        return NOTHING
    if isinstance(node, ArithmeticCommand):
        walker.expander.arithmetic(node.expression, state)
        return NOTHING
    walker.note(Effect.UNKNOWN, node.span, tags=("syntax",))
    return ANYTHING


def _endless(condition: Sequence) -> bool:
    """`while true`, `while :`, `until false`: a condition of one plain word that never changes."""
    last = condition.commands[-1] if condition.commands else None
    if not isinstance(last, Simple) or len(last.words) != 1:
        return False
    parts = list(getattr(last.words[0], "parts", ()))
    word: str = getattr(parts[0], "text", "") if len(parts) == 1 else ""
    return word.rpartition("/")[2] in (":", "true", "false")


def _no_endless_spawning(walker: Walker, body: Sequence) -> None:
    """Notes processes that are started beside an endless loop, again and again."""
    waiting: list[Sequence] = [body]
    while waiting:
        sequence = waiting.pop()
        if "&" in sequence.after:
            walker.note(Effect.SYSTEM, sequence.span, tags=("spawning",))
            return
        waiting += [c.body for c in sequence.commands if isinstance(c, Block)]


def _conditional(walker: Walker, node: If, state: State, stdin: Stream) -> Stream:
    outputs: list[Stream] = []
    for asked, body in node.clauses:
        walker.sequence(asked, state, stdin)
        before = state.copy()
        outputs.append(walker.sequence(body, state, stdin))
        state.blur(before)
    if node.otherwise is not None:
        before = state.copy()
        outputs.append(walker.sequence(node.otherwise, state, stdin))
        state.blur(before)
    return any_of(outputs)


def _loop(walker: Walker, node: For, state: State, stdin: Stream) -> Stream:
    values = (
        list(state.positional) if node.words is None else walker.expander.words(node.words, state)
    )
    if len(values) > MOST_ROUNDS:
        taint = PLAIN
        for value in values:
            taint |= value.taint
        values = [*values[: MOST_ROUNDS - 1], arg(UNKNOWN, node.span, taint)]
    outputs: list[Stream] = []
    before = state.copy()
    for value in values or [arg(UNKNOWN, node.span)]:
        state.assign(node.name, value)
        judge_steering(walker, node.name, value, state)
        outputs.append(walker.sequence(node.body, state, stdin))
    if len(values) != 1:
        state.blur(before)
    return joined(outputs)


def _cases(walker: Walker, node: Case, state: State, stdin: Stream) -> Stream:
    walker.expander.one(node.subject, state)
    outputs: list[Stream] = []
    for patterns, body in node.clauses:
        walker.expander.words(patterns, state)
        before = state.copy()
        outputs.append(walker.sequence(body, state, stdin))
        state.blur(before)
    return any_of(outputs)


def _coprocess(walker: Walker, node: Coprocess, state: State) -> Stream:
    # Its input is whatever the script writes to it later: assume the worst it may read.
    then = state.copy()
    answers = walker.files.descriptor(NOTHING)
    written = walker.reader(lambda stream: walker.command(node.body, then.copy(), stream), answers)
    ends = [state.open(arg(path, node.span)) for path in (answers, written)]
    judge_steering(walker, node.name or "COPROC", arg(UNKNOWN, node.span), state)
    state.arrays[node.name or "COPROC"] = [arg(end, node.span) for end in ends]
    return NOTHING
