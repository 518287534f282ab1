"""Commands, simple and compound: every branch is walked, since nobody knows which one will run."""

from __future__ import annotations

from redoma.judge.interpret.arg import (
    ANYTHING,
    NETWORK,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Arg,
    Stream,
    any_of,
    arg,
    joined,
)
from redoma.judge.interpret.assignments import CALCULATED, condition, put_element
from redoma.judge.interpret.files import Redirects
from redoma.judge.interpret.invocation import Invocation
from redoma.judge.interpret.loops import judge_counting, judge_while
from redoma.judge.interpret.variables import judge_steering, judge_variable
from redoma.model.decision import Effect
from redoma.model.script import (
    ArithmeticCommand,
    Assignment,
    Block,
    Case,
    CommandSubstitution,
    Coprocess,
    For,
    ForArithmetic,
    Function,
    If,
    Simple,
    Test,
    While,
    Word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walker import Walker
    from redoma.model.script import Command

MOST_ROUNDS = 6


def simple(walker: Walker, node: Simple, state: State, stdin: Stream) -> Stream:
    """Walks one simple command."""
    words = node.words
    environment: dict[str, Arg] = {}
    if node.assignments:
        environment = _assignments(walker, node.assignments, state, keep=not words)
    if not words:
        walker.spend(len(node.redirects))
        redirects = Redirects(walker, node.redirects, state, stdin)
        redirects.emptied = bool(node.redirects) and not node.assignments
        if [r.op for r in node.redirects] == ["<"] and not node.assignments:
            # `$(<file)` is what the file holds.
            return redirects.stdin
        return redirects.finish(NOTHING)
    alias = _alias(words[0], state)
    if alias is not None:
        return _aliased(walker, alias, node, state, stdin)
    walker.spend(len(words) // 2 + len(node.redirects))
    args = _words(walker, words, _seeing(environment, state))
    redirects = Redirects(walker, node.redirects, state, stdin)
    if not args:
        return redirects.finish(NOTHING)
    first = node.words[0]
    if isinstance(first, Word) and any(type(p) is CommandSubstitution for p in first.parts):
        walker.note(Effect.UNKNOWN, first.span, tags=("assembled",))
    for word in args:
        if word.taint & NETWORK:
            walker.note(Effect.NETWORK, word.span, tags=("spliced",))
            break
    if state.exported:
        environment = {**state.environment(), **environment}
    call = Invocation(
        walker, args, state, redirects.stdin, environment, node.span, redirects=redirects
    )
    out = redirects.finish(walker.run(call))
    if call.name == "exec" and node.redirects:
        redirects.keep()
    state.variables["_"] = args[-1]
    return out


def _seeing(environment: dict[str, Arg], state: State) -> State:
    """`X=/etc cat $X/shadow` does not see X in bash; where X is not known, assume it does."""
    unknown = {name: value for name, value in environment.items() if name not in state.variables}
    if not unknown:
        return state
    seeing = state.copy()
    seeing.variables.update(unknown)
    return seeing


def _words(walker: Walker, words: tuple[Word | Assignment, ...], state: State) -> list[Arg]:
    args: list[Arg] = []
    plain: list[Word] = []
    for word in words:
        if isinstance(word, Word):
            plain.append(word)
            continue
        args.extend(walker.expander.words(plain, state))
        plain = []
        value = walker.expander.value(word.value, state)
        _array(walker, word, state)
        args.append(arg(f"{word.name}={value}", word.span, value.taint))
    args.extend(walker.expander.words(plain, state))
    return args


def _assignments(
    walker: Walker, assignments: tuple[Assignment, ...], state: State, *, keep: bool
) -> dict[str, Arg]:
    made: dict[str, Arg] = {}
    for assignment in assignments:
        walker.step()
        key = arg("", assignment.span)
        if assignment.subscript is not None:
            key = walker.expander.one(assignment.subscript, state)
        if _array(walker, assignment, state):
            continue
        value = walker.expander.value(assignment.value, state)
        if assignment.append:
            earlier = state.variables.get(assignment.name, arg(UNKNOWN, assignment.span))
            value = arg(earlier + value, assignment.span, earlier.taint | value.taint)
        else:
            value = arg(value, assignment.span, value.taint)
        made[assignment.name] = value
        judge_variable(walker, assignment.name, value, state, kept=keep)
        if keep and assignment.subscript is None:
            state.assign(assignment.name, value)
        elif keep:
            put_element(walker, assignment.name, key, value, state)
        if assignment.name in state.integers or assignment.name in CALCULATED:
            walker.expander.number(value, state)
        if value.taint & NETWORK:
            walker.note(Effect.NETWORK, assignment.span, tags=("spliced",))
    return made


def _array(walker: Walker, assignment: Assignment, state: State) -> bool:
    if assignment.elements is None:
        return False
    name = assignment.name
    if not assignment.append:
        state.forget(name)
        state.arrays[name] = []
    if all(subscript is None for subscript, _ in assignment.elements):
        items = walker.expander.words([value for _, value in assignment.elements], state)
        earlier = state.arrays.get(name)
        if earlier is None:
            earlier = [held for held in (state.variables.pop(name, None),) if held is not None]
        state.arrays[name] = [*earlier, *items]
        if name == "PROMPT_COMMAND":
            for item in items:
                judge_variable(walker, name, item, state, kept=True)
        return True
    for subscript, value in assignment.elements:
        walker.step()
        key = arg(str(len(state.arrays.get(name, ()))), assignment.span)
        if subscript is not None:
            key = walker.expander.one(subscript, state)
        held = walker.expander.value(value, state)
        put_element(walker, name, key, held, state)
        if name == "PROMPT_COMMAND":
            judge_variable(walker, name, held, state, kept=True)
    return True


def _alias(word: Word | Assignment, state: State) -> str | None:
    if not state.aliases or not isinstance(word, Word) or len(word.parts) != 1:
        return None
    part = word.parts[0]
    if getattr(part, "quoted", True):
        return None
    return state.aliases.get(getattr(part, "text", ""))


def _aliased(walker: Walker, body: str, node: Simple, state: State, stdin: Stream) -> Stream:
    first = node.words[0]
    rest = walker.source[first.span[1] : node.span[1]]
    then = state.copy()
    name = getattr(getattr(first, "parts", (None,))[0], "text", "")
    then.aliases = {k: v for k, v in state.aliases.items() if k != name}
    if body[-1:] in (" ", "\t"):
        # An alias that ends in a blank lets the next word be one too.
        second, blank, others = rest.lstrip().partition(" ")
        rest = f"{then.aliases.get(second, second)}{blank}{others}"
    return walker.nested(arg(f"{body} {rest}", node.span), then, stdin)


def compound(walker: Walker, node: Command, state: State, stdin: Stream) -> Stream:
    """Walks one compound command, its redirections already open."""
    if isinstance(node, Block):
        return walker.sequence(node.body, state.copy() if node.subshell else state, stdin)
    if isinstance(node, If):
        return _conditional(walker, node, state, stdin)
    if isinstance(node, While):
        before = state.copy()
        judge_while(walker, node)
        walker.sequence(node.condition, state, stdin)
        out = walker.sequence(node.body, state, stdin)
        state.blur(before)
        return out
    if isinstance(node, For):
        return _loop(walker, node, state, stdin)
    if isinstance(node, ForArithmetic):
        expression = walker.expander.one(node.expression, state)
        walker.expander.arithmetic(node.expression, state)
        judge_counting(walker, node, expression)
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
        condition(Invocation(walker, [arg("[[", node.span), *words], state, stdin, {}, node.span))
        return NOTHING
    if isinstance(node, ArithmeticCommand):
        walker.expander.arithmetic(node.expression, state)
        return NOTHING
    walker.note(Effect.UNKNOWN, node.span, tags=("syntax",))
    return ANYTHING


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
