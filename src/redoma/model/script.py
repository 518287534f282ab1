"""The tree of a shell script: what was read, where each part stands, and what could not be read.

Nodes are plain slotted classes, since a parser makes hundreds of them for one command. They are
built once by `judge.shell.parse` and never changed afterwards. A span is `(start, end)` in
characters of the outermost text that was parsed, however deep the node stands in it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Span: TypeAlias = tuple[int, int]


class Node:
    """Something read from a script, and where it stands."""

    __slots__ = ("span",)
    span: Span

    def __repr__(self) -> str:
        names = [n for kind in type(self).__mro__ for n in getattr(kind, "__slots__", ())]
        inside = ", ".join(f"{n}={getattr(self, n)!r}" for n in names if n != "span")
        return f"{type(self).__name__}({inside})"


# Words ------------------------------------------------------------------------------------------


class Literal(Node):
    """Text as it is after quotes are removed; `quoted` text neither splits nor globs.

    Unquoted text is exactly what is written: braces, tildes and globs are still in it. What is
    no word of its own (arithmetic, the body of a here-document) counts as quoted.
    """

    __slots__ = ("quoted", "text")

    def __init__(self, text: str, quoted: bool, span: Span) -> None:  # noqa: FBT001
        self.text = text
        self.quoted = quoted
        self.span = span


class Parameter(Node):
    """`$name`, `${name}`, `${name[sub]op arg}`; `op` is "" or e.g. ":-", "//", "#", ":", "@".

    `prefix` is "", "#" (length) or "!" (indirect). `argument` is what follows the operator, with
    its own substitutions read; for ":" and "//" it holds the whole rest ("1:2", "pat/repl").
    `name` is "" where bash would say "bad substitution".
    """

    __slots__ = ("argument", "name", "op", "prefix", "quoted", "subscript")

    def __init__(
        self,
        name: str,
        span: Span,
        *,
        quoted: bool = False,
        prefix: str = "",
        subscript: Word | None = None,
        op: str = "",
        argument: Word | None = None,
    ) -> None:
        self.name = name
        self.span = span
        self.quoted = quoted
        self.prefix = prefix
        self.subscript = subscript
        self.op = op
        self.argument = argument


class CommandSubstitution(Node):
    """`$(…)`, backticks, `${ …; }`: a script whose output becomes text."""

    __slots__ = ("quoted", "script")

    def __init__(self, script: Script, quoted: bool, span: Span) -> None:  # noqa: FBT001
        self.script = script
        self.quoted = quoted
        self.span = span


class ProcessSubstitution(Node):
    """`<(…)` (direction "<") or `>(…)`."""

    __slots__ = ("direction", "script")

    def __init__(self, direction: str, script: Script, span: Span) -> None:
        self.direction = direction
        self.script = script
        self.span = span


class Arithmetic(Node):
    """`$((…))` or `$[…]`: an expression, with the substitutions inside it read."""

    __slots__ = ("expression", "quoted")

    def __init__(self, expression: Word, quoted: bool, span: Span) -> None:  # noqa: FBT001
        self.expression = expression
        self.quoted = quoted
        self.span = span


if TYPE_CHECKING:
    Part: TypeAlias = Literal | Parameter | CommandSubstitution | ProcessSubstitution | Arithmetic


class Word(Node):
    """One word as written: parts in order. `""` is a word with one empty quoted literal."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Part, ...], span: Span) -> None:
        self.parts = parts
        self.span = span


# Commands ---------------------------------------------------------------------------------------


class Assignment(Node):
    """`name=value`, `name[sub]+=value`, `name=(…)` (then `elements` holds (subscript, value))."""

    __slots__ = ("append", "elements", "name", "subscript", "value")

    def __init__(
        self,
        name: str,
        value: Word | None,
        span: Span,
        *,
        append: bool = False,
        subscript: Word | None = None,
        elements: tuple[tuple[Word | None, Word], ...] | None = None,
    ) -> None:
        self.name = name
        self.value = value
        self.span = span
        self.append = append
        self.subscript = subscript
        self.elements = elements


class Redirect(Node):
    """`2>file`, `<<EOF`, `{fd}>x`. `fd` is a number, a `{name}` or "" for the default.

    For "<<" and "<<-" `target` is the body (one quoted literal when the delimiter was quoted);
    `delimiter` is the delimiter's text, else "".
    """

    __slots__ = ("delimiter", "fd", "op", "target")

    def __init__(self, op: str, fd: str, target: Word, span: Span, delimiter: str = "") -> None:
        self.op = op
        self.fd = fd
        self.target = target
        self.span = span
        self.delimiter = delimiter


class Command(Node):
    """Anything that runs; compound commands may carry redirects."""

    __slots__ = ("redirects",)
    redirects: tuple[Redirect, ...]


class Simple(Command):
    """Assignments, words and redirects, in the order of each kind."""

    __slots__ = ("assignments", "words")

    def __init__(
        self,
        assignments: tuple[Assignment, ...],
        words: tuple[Word | Assignment, ...],
        redirects: tuple[Redirect, ...],
        span: Span,
    ) -> None:
        # `words` may hold Assignments with elements: `declare -a x=(…)`.
        self.assignments = assignments
        self.words = words
        self.redirects = redirects
        self.span = span


class Pipeline(Command):
    """Commands joined by `|`; with `!` and `time` noted, which may also stand alone.

    `a |& b` is read as `a 2>&1 | b`.
    """

    __slots__ = ("commands", "negated", "timed")

    def __init__(
        self, commands: tuple[Command, ...], span: Span, *, negated: bool, timed: bool
    ) -> None:
        self.commands = commands
        self.span = span
        self.negated = negated
        self.timed = timed
        self.redirects = ()


class Sequence(Command):
    """Commands one after another; `after[i]` is what ends command i: ";" "&" "&&" "||" or "".

    An `Unread` stands where reading failed, after the command it belongs to.
    """

    __slots__ = ("after", "commands")

    def __init__(self, commands: tuple[Command, ...], after: tuple[str, ...], span: Span) -> None:
        self.commands = commands
        self.after = after
        self.span = span
        self.redirects = ()


class Block(Command):
    """`{ …; }` or, as a `subshell`, `( … )`."""

    __slots__ = ("body", "subshell")

    def __init__(
        self, body: Sequence, redirects: tuple[Redirect, ...], span: Span, *, subshell: bool
    ) -> None:
        self.body = body
        self.redirects = redirects
        self.span = span
        self.subshell = subshell


class If(Command):
    """Conditions with their bodies, then the `else` body if there is one."""

    __slots__ = ("clauses", "otherwise")

    def __init__(
        self,
        clauses: tuple[tuple[Sequence, Sequence], ...],
        otherwise: Sequence | None,
        redirects: tuple[Redirect, ...],
        span: Span,
    ) -> None:
        self.clauses = clauses
        self.otherwise = otherwise
        self.redirects = redirects
        self.span = span


class While(Command):
    """`while` and `until`."""

    __slots__ = ("body", "condition")

    def __init__(
        self, condition: Sequence, body: Sequence, redirects: tuple[Redirect, ...], span: Span
    ) -> None:
        self.condition = condition
        self.body = body
        self.redirects = redirects
        self.span = span


class For(Command):
    """`for name in words` and `select`; `words` is None for the positional parameters."""

    __slots__ = ("body", "name", "words")

    def __init__(
        self,
        name: str,
        words: tuple[Word, ...] | None,
        body: Sequence,
        redirects: tuple[Redirect, ...],
        span: Span,
    ) -> None:
        self.name = name
        self.words = words
        self.body = body
        self.redirects = redirects
        self.span = span


class ForArithmetic(Command):
    """`for ((a; b; c))`."""

    __slots__ = ("body", "expression")

    def __init__(
        self, expression: Word, body: Sequence, redirects: tuple[Redirect, ...], span: Span
    ) -> None:
        self.expression = expression
        self.body = body
        self.redirects = redirects
        self.span = span


class Case(Command):
    """`case word in (patterns) body ;; esac`."""

    __slots__ = ("clauses", "subject")

    def __init__(
        self,
        subject: Word,
        clauses: tuple[tuple[tuple[Word, ...], Sequence], ...],
        redirects: tuple[Redirect, ...],
        span: Span,
    ) -> None:
        self.subject = subject
        self.clauses = clauses
        self.redirects = redirects
        self.span = span


class Function(Command):
    """A definition; its body runs only when called. `name` is as written, quotes and all."""

    __slots__ = ("body", "name")

    def __init__(self, name: str, body: Command, span: Span) -> None:
        self.name = name
        self.body = body
        self.span = span
        self.redirects = ()


class Coprocess(Command):
    """`coproc [NAME] command`."""

    __slots__ = ("body", "name")

    def __init__(self, name: str, body: Command, span: Span) -> None:
        self.name = name
        self.body = body
        self.span = span
        self.redirects = ()


class Test(Command):
    """`[[ … ]]` (the words inside, operators among them)."""

    __slots__ = ("words",)

    def __init__(
        self, words: tuple[Word, ...], redirects: tuple[Redirect, ...], span: Span
    ) -> None:
        self.words = words
        self.redirects = redirects
        self.span = span


class ArithmeticCommand(Command):
    """`(( … ))`."""

    __slots__ = ("expression",)

    def __init__(self, expression: Word, redirects: tuple[Redirect, ...], span: Span) -> None:
        self.expression = expression
        self.redirects = redirects
        self.span = span


class Unread(Command):
    """A stretch that could not be understood: never harmless."""

    __slots__ = ("reason",)

    def __init__(self, reason: str, span: Span) -> None:
        self.reason = reason
        self.span = span
        self.redirects = ()


class Script(Node):
    """A whole text: its commands, and every stretch of it that could not be read, at any depth.

    In a substitution `text` is the script inside as the shell would run it.
    """

    __slots__ = ("body", "text", "unread")

    def __init__(self, text: str, body: Sequence, unread: tuple[Unread, ...], span: Span) -> None:
        self.text = text
        self.body = body
        self.unread = unread
        self.span = span
