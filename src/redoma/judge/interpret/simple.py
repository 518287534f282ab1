"""Simple commands: assignments are made, words are expanded, and the program is called."""

from __future__ import annotations

from redoma.judge.interpret.arg import NETWORK, NOTHING, UNKNOWN, Arg, Stream, arg
from redoma.judge.interpret.call import Call
from redoma.judge.interpret.redirects import Redirects
from redoma.judge.interpret.variables import judge_variable
from redoma.model.risk import Effect
from redoma.model.script import Assignment, CommandSubstitution, Simple, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walk import Walker


def simple(walker: Walker, node: Simple, state: State, stdin: Stream) -> Stream:
    """Walks one simple command."""
    words = node.words
    environment: dict[str, Arg] = {}
    if node.assignments:
        environment = _assignments(walker, node.assignments, state, keep=not words)
    if not words:
        redirects = Redirects(walker, node.redirects, state, stdin)
        redirects.emptied = bool(node.redirects) and not node.assignments
        if [r.op for r in node.redirects] == ["<"] and not node.assignments:
            # `$(<file)` is what the file holds.
            return redirects.stdin
        return redirects.finish(NOTHING)
    alias = _alias(words[0], state)
    if alias is not None:
        return _aliased(walker, alias, node, state, stdin)
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
    call = Call(walker, args, state, redirects.stdin, environment, node.span, redirects=redirects)
    out = redirects.finish(walker.run(call))
    if call.name == "exec" and node.redirects:
        redirects.keep()
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
        value = walker.expander.one(word.value, state)
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
        if assignment.subscript is not None:
            walker.expander.one(assignment.subscript, state)
        if _array(walker, assignment, state):
            continue
        value = walker.expander.one(assignment.value, state)
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
            state.arrays[assignment.name] = [arg(UNKNOWN, assignment.span, value.taint)]
        if value.taint & NETWORK:
            walker.note(Effect.NETWORK, assignment.span, tags=("spliced",))
    return made


def _array(walker: Walker, assignment: Assignment, state: State) -> bool:
    if assignment.elements is None:
        return False
    for subscript, _ in assignment.elements:
        if subscript is not None:
            walker.expander.one(subscript, state)
    items = walker.expander.words([value for _, value in assignment.elements], state)
    earlier = state.arrays.get(assignment.name, []) if assignment.append else []
    state.arrays[assignment.name] = [*earlier, *items]
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
    rest = walker.text[first.span[1] : node.span[1]] if walker.frame.span is None else ""
    then = state.copy()
    then.aliases = {}
    return walker.nested(arg(f"{body} {rest}", node.span), then, stdin)
