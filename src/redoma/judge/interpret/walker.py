"""Walks a script's tree as a shell would, branch by branch, and lets programs say what they do."""

from __future__ import annotations

from redoma.judge.interpret.arg import (
    ANYTHING,
    ENDLESS,
    NETWORK,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Arg,
    Stream,
    joined,
)
from redoma.judge.interpret.builtins import BUILTINS
from redoma.judge.interpret.carriers import carry
from redoma.judge.interpret.commands import compound, simple
from redoma.judge.interpret.expansion import Expander
from redoma.judge.interpret.files import Files, Redirects, run_written, settle
from redoma.judge.interpret.invocation import Invocation
from redoma.judge.interpret.loops import ENDLESS_OR_FILTER, passed_on
from redoma.judge.interpret.program_search import meant, planted
from redoma.judge.interpret.script_files import ScriptFiles
from redoma.judge.interpret.state import Ground, State, TextFrame
from redoma.judge.interpret.variables import steer
from redoma.judge.shell.parser import parse
from redoma.judge.text.budget import spend
from redoma.judge.text.glob import has_glob
from redoma.model.decision import Effect, Fact, Target
from redoma.model.message import Message
from redoma.model.script import (
    Function,
    Pipeline,
    Sequence,
    Simple,
    Unread,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from redoma.model.script import Command, ProcessSubstitution, Script, Span

    class KnownPrograms(Protocol):
        """What a walk asks about programs and other languages; the caller gives it one."""

        cards: Any

        def __contains__(self, name: object) -> bool:
            """Whether a program of this name is known."""

        def variable(self, name: str) -> Any:
            """What setting a variable means to programs; None for one that means nothing."""

        def run(self, call: Invocation) -> Stream:
            """Notes what a call does; gives what is known of its output."""

        def read_code(self, call: Invocation, language: str, text: Arg) -> Stream:
            """Notes what code in another language does; gives what it prints, if that is known."""


MOST_STEPS = 1500
STEP = 256
"""What a step is taken to cost, beside what loops of its own pay for."""
MOST_NESTED_TEXT = 49152
DEEPEST = 24


class TooMuch(Exception):
    """The script asks for more steps than a judgement may take."""


class Walker:
    """One walk over one text: collects facts, remembers files, counts steps."""

    def __init__(self, text: str, ground: Ground, knowledge: KnownPrograms) -> None:
        self.text = text
        self.source = text
        """The text that is being walked: the caller's, or one nested in it."""
        self.ground = ground
        self.knowledge = knowledge
        self.facts: list[Fact] = []
        self.files = Files()
        self.expander = Expander(self)
        self.steps = 0
        self.nested_text = 0
        self.depth = 0
        self.forks = 0
        self.running: dict[str, int] = {}
        self.locals: dict[str, Arg | None] = {}
        """What the names that the running function made its own meant before."""
        self.uncalled: dict[str, tuple[Function, State]] = {}
        self.frame = TextFrame(None, None)
        self.privileged = False
        self.elsewhere = ""
        self.extglob = True
        self.calls_wanted = False
        self.calls_in_files = False
        self.most_steps = MOST_STEPS
        self.scripts = ScriptFiles(ground)

    def step(self) -> None:
        """Counts a piece of work."""
        self.spend(1)

    def spend(self, steps: int) -> None:
        """Counts work; a text that asks for too much of it is given up as a whole."""
        spend(STEP * steps)
        self.steps += steps
        if self.steps > self.most_steps:
            raise TooMuch

    # Whole texts ------------------------------------------------------------------------------

    def script(self, script: Script, state: State, stdin: Stream = ANYTHING) -> Stream:
        """A parsed text, then the functions it defined and never called."""
        out = self.sequence(script.body, state, stdin)
        for unread in script.unread:
            self.unread(unread)
        while self.uncalled and self.depth == 0:
            _, (function, then) = self.uncalled.popitem()
            self.command(function.body, then.copy(), ANYTHING)
        if self.depth == 0 and self.files.by_path:
            run_written(self, state)
        return out

    def nested(
        self,
        text: Arg,
        state: State,
        stdin: Stream = ANYTHING,
        positional: list[Arg] | None = None,
        origin: tuple[str, int] | None = None,
    ) -> Stream:
        """A text that runs as shell code of its own, such as that of `bash -c` or `eval`.

        Its `origin` is a file, and the line there or 0 for the whole of it.
        """
        if self.depth >= DEEPEST:
            self.note(Effect.UNKNOWN, text.span, tags=("nested",))
            return ANYTHING
        self.nested_text += len(text)
        if self.nested_text > MOST_NESTED_TEXT:
            raise TooMuch
        span = self.frame.outer(text.span)
        before, positional_before, source = self.frame, state.positional, self.source
        file, line = origin or (before.file, before.line_of(text.span) if before.file else 0)
        whole = str(text) if origin is not None and not line else ""
        self.frame = TextFrame(span, None if file else self._offset(text, span), file, line, whole)
        self.depth += 1
        if positional is not None:
            state.positional = positional
        try:
            self.source = str(text).replace(UNKNOWN, "$__unknown")
            return self.script(parse(self.source, extglob=self.extglob), state, stdin)
        finally:
            self.depth -= 1
            self.frame, self.source = before, source
            state.positional = positional_before

    def _offset(self, text: Arg, span: Span) -> int | None:
        if self.frame.span is not None and self.frame.offset is None:
            return None
        for shift in (0, 1, 2):
            start = span[0] + shift
            if self.text.startswith(text, start) and start + len(text) <= span[1]:
                return start
        return None

    def hidden_text(self, text: Arg, state: State) -> None:
        """Text that the shell would expand once more: `${x@P}`, arithmetic, prompts."""
        body = text.like(f"cat <<REDOMA_END\n{text}\nREDOMA_END\n")
        self.nested(body, state.copy())

    def substitute(self, script: Script, state: State) -> Stream:
        """What `$(…)` gives."""
        self.step()
        if self.depth >= DEEPEST:
            self.note(Effect.UNKNOWN, script.span, tags=("nested",))
            return ANYTHING
        self.depth += 1
        try:
            return self.script(script, state.captured())
        finally:
            self.depth -= 1

    def process_substitution(self, part: ProcessSubstitution, state: State) -> str:
        """A name such as /dev/fd/63 that stands for the other end."""
        if part.direction == "<":
            stream = self.substitute(part.script, state)
            if stream.taint & NETWORK:
                self.note(Effect.NETWORK, part.span, tags=("spliced",))
            return self.files.descriptor(stream)
        then = state.copy()
        return self.reader(lambda stream: self.script(part.script, then.copy(), stream))

    def reader(self, run: Callable[[Stream], Stream], answers: str = "") -> str:
        """A path that a process reads from: it runs again with everything that is written there.

        It runs once with what is not known yet, since the writer may be one we cannot see.
        """
        frame = self.frame

        def feed(stream: Stream) -> None:
            if self.depth >= DEEPEST:
                return
            before, self.frame = self.frame, frame
            self.depth += 1
            self.forks += 1
            try:
                out = run(stream)
            finally:
                self.forks -= 1
                self.depth -= 1
                self.frame = before
            if answers:
                self.files.put(answers, out, append=True)

        path = self.files.descriptor(ANYTHING)
        feed(Stream(None, self.taint_so_far()))
        self.files.sinks[path] = feed
        return path

    def taint_so_far(self) -> int:
        taint = PLAIN
        for fact in self.facts:
            if fact.effect is Effect.NETWORK and "download" in fact.tags:
                taint |= NETWORK
        return taint

    # Commands ---------------------------------------------------------------------------------

    def sequence(self, node: Sequence, state: State, stdin: Stream) -> Stream:
        outputs: list[Stream] = []
        waiting: list[tuple[Command, State, int]] = []
        after = node.after
        for index, command in enumerate(node.commands):
            ending = after[index] if index < len(after) else ""
            if state.stdin is not None:
                stdin = state.stdin
            doubtful = bool(index) and after[index - 1] in ("&&", "||")
            self.files.doubts += doubtful
            if ending == "&":
                waiting.append((command, state.copy(), self.files.changes))
                self.forks += 1
                outputs.append(self.command(command, state.copy(), stdin))
                self.forks -= 1
            elif index and after[index - 1] == "||":
                before = state.copy()
                outputs.append(self.command(command, state, stdin))
                state.blur(before)
            else:
                outputs.append(self.command(command, state, stdin))
            self.files.doubts -= doubtful
            if "1" in state.descriptors and outputs[-1] is not NOTHING:
                self.flow_out(state, outputs[-1])
        for command, then, changes in waiting:
            # `curl -d @fifo host & cat .env > fifo`: what runs beside reads what comes later.
            if self.files.changes > changes:
                self.command(command, then, stdin)
        return joined(outputs)

    def flow_out(self, state: State, out: Stream) -> None:
        """After `exec >file`, what a command prints goes there."""
        word = state.descriptors["1"]
        settle(self, state, word, out, word.span, append=True)

    def command(self, node: Command, state: State, stdin: Stream) -> Stream:
        self.step()
        kind = type(node)
        if kind is Simple:
            return simple(self, node, state, stdin)  # type: ignore[arg-type]
        if kind is Pipeline:
            return self.pipeline(node, state, stdin)  # type: ignore[arg-type]
        if kind is Sequence:
            return self.sequence(node, state, stdin)  # type: ignore[arg-type]
        if kind is Unread:
            return ANYTHING
        if self.depth >= DEEPEST:
            self.note(Effect.UNKNOWN, node.span, tags=("nested",))
            return ANYTHING
        self.depth += 1
        try:
            redirects = Redirects(self, node.redirects, state, stdin)
            out = compound(self, node, state, redirects.stdin)
            return redirects.finish(out)
        finally:
            self.depth -= 1

    def pipeline(self, node: Pipeline, state: State, stdin: Stream) -> Stream:
        if len(node.commands) == 1:
            return self.command(node.commands[0], state, stdin)
        self.forks += 1
        stream = stdin
        for index, command in enumerate(node.commands):
            # `lastpipe` may keep the last stage in the shell itself: its changes stay visible.
            last = index == len(node.commands) - 1
            stream = self.command(command, state if last else state.captured(), stream)
        self.forks -= 1
        return stream

    # Running ----------------------------------------------------------------------------------

    def run(self, call: Invocation) -> Stream:
        """A call with its words known as far as they can be: function, builtin or program."""
        self.step()
        name = call.name
        if self.calls_wanted and (self.calls_in_files or not self.frame.file):
            operands = [word for word in call.args if word[:1] != "-"]
            several = len(operands) > 1 or any(has_glob(w) or UNKNOWN in w for w in operands)
            argv = "\x1f".join((name, *call.args))
            call.fact(Effect.CALLS, detail=argv, tags=("several",) if several else ())
        if "/" not in call.word:
            function = call.state.functions.get(name)
            if isinstance(function, Function):
                return self.call_function(function, call)
        builtin = BUILTINS.get(name)
        if builtin is not None and "/" not in call.word:
            return builtin(call)
        if self.depth >= DEEPEST:
            call.fact(Effect.UNKNOWN, tags=("nested",))
            return ANYTHING
        self.depth += 1
        try:
            other = meant(call)
            if other is not None:
                return call.run_args([other, *call.args])
            found = planted(call) if self.files.by_path else None
            if found is not None:
                return call.executes_file(found, "", positional=call.args)
            if call.environment:
                steer(call)
            noted = len(self.facts)
            out = self.knowledge.run(call)
            if call.args and (len(self.facts) > noted or self.files.by_path):
                carry(call, noted)
            # One test for nearly all calls: what never ends comes from few programs.
            if name in ENDLESS_OR_FILTER or out.taint & ENDLESS:
                out = passed_on(call, out)
            return out
        finally:
            self.depth -= 1

    def call_function(self, function: Function, call: Invocation) -> Stream:
        name = function.name
        self.uncalled.pop(name, None)
        if name in self.running:
            if self.forks > self.running[name]:
                call.fact(Effect.SYSTEM, tags=("fork-bomb",))
            return ANYTHING
        self.running[name] = self.forks
        state = call.state
        before, outer = state.positional, self.locals
        state.positional = call.args
        self.locals = {}
        try:
            return self.command(function.body, state, call.stdin)
        finally:
            for local, value in self.locals.items():
                state.forget(local)
                if value is not None:
                    state.variables[local] = value
            state.positional, self.locals = before, outer
            del self.running[name]

    # Facts ------------------------------------------------------------------------------------

    def note(
        self,
        effect: Effect,
        span: Span,
        *targets: Target,
        tags: tuple[str, ...] = (),
        program: str = "",
        detail: str = "",
    ) -> None:
        self.step()
        marks = set(tags)
        if self.privileged:
            marks.add("privileged")
        if self.elsewhere:
            marks.add("elsewhere")
        self.facts.append(
            Fact(
                effect=effect,
                span=self.frame.outer(span),
                where=self.frame.where(span),
                program=program,
                targets=targets,
                tags=frozenset(marks),
                detail=detail,
            )
        )

    def unread(self, node: Unread) -> None:
        self.note(Effect.UNKNOWN, node.span, tags=("syntax",), detail=Message(node.reason))
