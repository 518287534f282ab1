"""Script files that a command would run: read as data, through a reader that the caller gives.

Attack: a script is written in one call and run in the next, and each call looks harmless. So what
a command would run is read where it lies, and judged as if the command had brought it. Nothing is
opened here: the reader is a value that comes with the ground, and without one no file is read.
"""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN, arg
from redoma.judge.interpret.sensitive import is_secret
from redoma.judge.interpret.state import TextFrame
from redoma.judge.text.budget import current, spend
from redoma.judge.text.glob import has_glob
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg, Stream
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.interpret.state import Ground, State

MOST_FILES = 16
MOST_TEXT = 131_072
MOST_STEPS = 4000
"""What all files together may take, beside what the command itself may."""
DEEPEST = 4
RESERVE = 1_500_000
"""Work that stays for the command itself, whatever its files ask for."""
_GENERATED = frozenset(
    "gradlew mvnw configure config.status config.guess config.sub libtool ltmain.sh depcomp "
    "install-sh missing bazelisk".split()
)
"""Scripts that tools write and nobody reads; they are what they were before: the project's."""


class ScriptFiles:
    """The script files of one judgement: what was read, and how much may still be."""

    __slots__ = ("_ground", "_held", "_text", "made", "open", "steps")

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._held: dict[str, str | None] = {}
        self._text = MOST_TEXT
        self.steps = MOST_STEPS
        self.made: set[str] = set()
        """Files that a script file writes: they run only where something runs them by name."""
        self.open: list[str] = []
        """The files that are being walked, the innermost last."""

    def text(self, path: str) -> str | None:
        """What a file holds; None for one that is not there, too much, or not to be read."""
        reader = self._ground.reader
        if reader is None or path[:1] != "/" or UNKNOWN in path or has_glob(path):
            return None
        if path not in self._held:
            name = path.rpartition("/")[2]
            if len(self._held) >= MOST_FILES or name in _GENERATED or is_secret(path):
                return None
            held = reader.read(path)
            if held is not None and len(held) > self._text:
                held = None
            self._text -= len(held or "")
            spend(256 + len(held or "") // 4)
            self._held[path] = held
        return self._held[path]

    def was_read(self, path: str) -> bool:
        """Whether the file was read, so that what it runs is known."""
        return self._held.get(path) is not None

    def shown(self, path: str) -> str:
        """A path as a reason names it: from the workspace on."""
        return path.removeprefix(self._ground.workspace + "/")


class Reading:
    """A stretch of a walk inside a file: `with Reading(call, path):`.

    A file that asks for too much is left where that shows, and the command is judged by the rest.
    """

    __slots__ = ("_before", "_call", "_files", "_path")

    def __init__(self, call: Invocation, path: str) -> None:
        self._call = call
        self._path = path

    def __enter__(self) -> None:
        walker = self._call.walker
        self._before = (walker.steps, walker.most_steps, walker.nested_text, walker.depth)
        walker.most_steps = walker.steps + walker.scripts.steps
        walker.nested_text = 0
        self._files = frozenset(walker.files.by_path)
        walker.scripts.open.append(self._path)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        from redoma.judge.interpret.walker import TooMuch

        walker = self._call.walker
        steps, walker.most_steps, walker.nested_text, walker.depth = self._before
        walker.scripts.steps -= walker.steps - steps
        walker.steps = steps
        walker.scripts.open.pop()
        walker.scripts.made |= walker.files.by_path.keys() - self._files
        given_up = kind is not None and issubclass(kind, TooMuch | RecursionError)
        if given_up:
            self._call.fact(
                Effect.UNKNOWN, tags=("script",), detail=walker.scripts.shown(self._path)
            )
        return given_up


def has_room(call: Invocation, path: str) -> bool:
    """Whether a file may be walked here: not inside itself, not too deep, not at any price."""
    scripts = call.walker.scripts
    budget = current()
    rich = budget is None or budget.left > RESERVE
    return rich and scripts.steps > 0 and len(scripts.open) < DEEPEST and path not in scripts.open


def run_script(
    call: Invocation,
    word: Arg,
    language: str,
    *,
    positional: list[Arg] | None,
    here: bool,
) -> Stream | None:
    """Walks the file that a command runs; None where it is not read."""
    from redoma.judge.interpret.files import language_of

    walker = call.walker
    path = call.path(word)
    text = walker.scripts.text(path) if has_room(call, path) else None
    if text is None:
        return None
    language = language or language_of(text)
    made: Stream | None = None
    with Reading(call, path):
        shown = walker.scripts.shown(path)
        if language == "shell":
            state = call.state if here else call.state.copy()
            if not here:
                state.variables["0"] = arg(path, word.span)
                positional = positional or []
            body = arg(text, word.span)
            made = walker.nested(body, state, call.stdin, positional, origin=(shown, 0))
        else:
            before = walker.frame
            walker.frame = TextFrame(before.outer(word.span), None, shown)
            try:
                made = call.reads_code(language, arg(text, word.span))
            finally:
                walker.frame = before
    return made


def run_lines(call: Invocation, path: str, commands: list[tuple[int, str]], state: State) -> None:
    """Walks commands that stand in lines of a file: a makefile's recipe, a package's script."""
    walker = call.walker
    if not has_room(call, path):
        return
    with Reading(call, path):
        for line, command in commands:
            body = arg(command, call.span)
            walker.nested(body, state, call.stdin, origin=(walker.scripts.shown(path), line))
