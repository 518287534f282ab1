"""Every program that a text would call, as the judge follows it, and the edits of that text."""

from __future__ import annotations

from redoma.judge.interpret.state import Ground, State
from redoma.judge.interpret.walker import TooMuch, Walker
from redoma.judge.shell.parser import parse
from redoma.judge.text.budget import Exhausted
from redoma.model.policy import BUILT_IN
from redoma.model.script import (
    Block,
    Case,
    Coprocess,
    For,
    ForArithmetic,
    Function,
    If,
    Literal,
    Pipeline,
    Sequence,
    Simple,
    While,
    Word,
)
from redoma.model.value import Value
from redoma.pipeline.decisions.check import judging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.judge.interpret.arg import Arg, Stream
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.knowledge import Knowledge
    from redoma.model.decision import Fact
    from redoma.model.script import Command, Span


class Edit(Value):
    """A stretch of the command's text and what stands there instead."""

    place: Span
    text: str
    # What the judge reads in its place, where the text holds a script of our own.
    judged: str = ""


class Instead(Value):
    """One command that a preview runs in another form."""

    edits: tuple[Edit, ...]
    # In words, as `npm publish --dry-run`.
    runs: str
    warnings: tuple[str, ...] = ()
    # What it would have called, where the form that runs does not tell.
    calls: tuple[str, ...] = ()
    # The form that runs says what would have been sent, on lines of its own.
    reports: bool = False


def edited(text: str, edits: list[Edit], *, for_judge: bool = False) -> str:
    """The text with every edit made: to be run, or to be judged."""
    for edit in sorted(edits, key=lambda e: e.place, reverse=True):
        start, end = edit.place
        put = edit.judged if for_judge and edit.judged else edit.text
        text = text[:start] + put + text[end:]
    return text


_EXPANDS = frozenset("*?[]{}~$`\\")


class Seen:
    """One call: the program, its words as far as they are known, and what it would do."""

    __slots__ = ("args", "cwd", "facts", "name", "span", "stdin", "written")

    def __init__(self, call: Invocation, span: Span, written: Written | None) -> None:
        self.name = call.name
        self.args: list[Arg] = list(call.args)
        self.stdin: Stream = call.stdin
        self.cwd = str(call.state.cwd)
        self.span = span
        self.written = written
        self.facts: list[Fact] = []


class Written:
    """A simple command that stands in the text itself, word by word."""

    __slots__ = ("literals", "node", "text")

    def __init__(self, node: Simple, text: str) -> None:
        self.node = node
        self.text = text
        self.literals = tuple(_literal(word) for word in node.words)

    @property
    def rewritable(self) -> bool:
        """Whether its words stand together, with nothing else between them."""
        words = self.node.words
        if not words or not all(isinstance(word, Word) for word in words):
            return False
        start, end = self.place
        return not any(start < redirect.span[0] < end for redirect in self.node.redirects)

    @property
    def place(self) -> Span:
        """From its first word to the end of its last."""
        words = self.node.words
        return words[0].span[0], words[-1].span[1]

    @property
    def input_file(self) -> str:
        """The file that standard input is taken from, where it is named plainly."""
        files = [r.target for r in self.node.redirects if r.op == "<" and r.fd in ("", "0")]
        return (_literal(files[-1]) or "") if files else ""

    def source(self, number: int) -> str:
        """A word as it was written, quotes and all."""
        start, end = self.node.words[number].span
        return self.text[start:end]

    def quoted(self, number: int) -> bool:
        """Whether a word stays one word, whatever the shell puts in it."""
        word = self.node.words[number]
        return isinstance(word, Word) and all(getattr(p, "quoted", False) for p in word.parts)


class Walked:
    """What a walk over a text found."""

    __slots__ = ("calls", "facts", "given_up")

    def __init__(self, calls: list[Seen], facts: list[Fact], *, given_up: bool) -> None:
        self.calls = calls
        self.facts = facts
        self.given_up = given_up


class _Listener(Walker):
    """The judge's own walk, with someone who writes down each call."""

    def __init__(self, text: str, ground: Ground, knowledge: Knowledge) -> None:
        # A preview shows what scripts do; what is foreseen is what the text itself says.
        super().__init__(text, Ground(ground.workspace, ground.home), knowledge)
        self.seen: list[Seen] = []
        self._outermost = self.frame
        script = parse(text)
        self._script = script
        # Attack: a name that the text itself gives another meaning is not the program we know.
        named = list(_commands(script.body))
        self._redefined = {str(c.name) for c in named if isinstance(c, Function)}
        self._nodes = {c.span: c for c in named if isinstance(c, Simple)}

    def walk(self) -> Walked:
        given_up = bool(self._script.unread)
        try:
            self.script(self._script, State(self.ground))
        except (TooMuch, Exhausted, RecursionError):
            given_up = True
        return Walked(self.seen, self.facts, given_up=given_up)

    def run(self, call: Invocation) -> Stream:
        seen = Seen(call, self.frame.outer(call.span), self._written(call))
        self.seen.append(seen)
        before = len(self.facts)
        out = super().run(call)
        seen.facts = self.facts[before:]
        return out

    def _written(self, call: Invocation) -> Written | None:
        if self.frame is not self._outermost or call.state.aliases:
            return None
        node = self._nodes.get(call.span)
        if node is None or call.name in self._redefined:
            return None
        written = Written(node, self.text)
        own = written.literals[0] if written.literals else None
        return written if own == str(call.word) and written.rewritable else None


def walked(text: str, ground: Ground, knowledge: Knowledge) -> Walked:
    """Follows a text and lists its calls, outer before inner."""
    with judging(BUILT_IN):
        return _Listener(text, ground, knowledge).walk()


def _commands(top: Command) -> Iterator[Command]:
    """Every command of the text that is not inside a word of another."""
    todo: list[Command] = [top]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Sequence | Pipeline):
            todo += node.commands
        elif isinstance(node, Block | For | ForArithmetic | Function | Coprocess):
            todo.append(node.body)
        elif isinstance(node, While):
            todo += [node.condition, node.body]
        elif isinstance(node, If):
            todo += [part for clause in node.clauses for part in clause]
            todo += [node.otherwise] if node.otherwise is not None else []
        elif isinstance(node, Case):
            todo += [body for _, body in node.clauses]


def _literal(word: object) -> str | None:
    """The word's text where the shell would change nothing in it but quotes."""
    if not isinstance(word, Word):
        return None
    text = ""
    for part in word.parts:
        if type(part) is not Literal or (not part.quoted and _EXPANDS & set(part.text)):
            return None
        text += part.text
    return text
