"""What the shell would know at a point of the script: variables, directory, functions, aliases."""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN, Arg, Stream, arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.script import Command, Span

NOWHERE = (0, 0)
DEFAULT_IFS = " \t\n"
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/")


class Ground:
    """Where a script is taken to run: the workspace, the home directory, the user."""

    __slots__ = ("home", "workspace")

    def __init__(self, workspace: str, home: str) -> None:
        self.workspace = workspace
        self.home = home


class State:
    """A shell's mind, copied when a subshell begins."""

    __slots__ = (
        "aliases",
        "arrays",
        "cwd",
        "descriptors",
        "directories",
        "exported",
        "functions",
        "positional",
        "references",
        "stdin",
        "variables",
    )

    def __init__(self, ground: Ground) -> None:
        self.variables: dict[str, Arg] = {}
        self.arrays: dict[str, list[Arg]] = {}
        self.exported: set[str] = set()
        self.functions: dict[str, Command] = {}
        self.aliases: dict[str, str] = {}
        self.references: dict[str, str] = {}
        """Names that stand for other names: `declare -n`."""
        self.positional: list[Arg] = []
        self.directories: list[str] = []
        self.descriptors: dict[str, Arg] = {}
        """Numbers that redirections opened for later commands, and where they lead."""
        self.stdin: Stream | None = None
        """What `exec <file` made everything that follows read from."""
        self.cwd = ground.workspace
        for name, value in (
            ("HOME", ground.home),
            ("PWD", ground.workspace),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("IFS", DEFAULT_IFS),
            ("TMPDIR", "/tmp"),
            ("SHELL", "/bin/bash"),
            ("UID", "1000"),
            ("EUID", "1000"),
        ):
            self.variables[name] = arg(value, NOWHERE)

    def copy(self) -> State:
        other = State.__new__(State)
        other.variables = dict(self.variables)
        other.arrays = dict(self.arrays)
        other.exported = set(self.exported)
        other.functions = dict(self.functions)
        other.aliases = dict(self.aliases)
        other.references = dict(self.references)
        other.positional = list(self.positional)
        other.directories = list(self.directories)
        other.descriptors = dict(self.descriptors)
        other.stdin = self.stdin
        other.cwd = self.cwd
        return other

    def captured(self) -> State:
        """A copy for what runs with its output caught by a pipe or a substitution."""
        other = self.copy()
        other.descriptors.pop("1", None)
        return other

    def environment(self) -> dict[str, Arg]:
        """What programs get to see: the exported variables."""
        return {n: self.variables[n] for n in self.exported if n in self.variables}

    def assign(self, name: str, value: Arg) -> None:
        name = self.references.get(name, name)
        self.arrays.pop(name, None)
        self.variables[name] = value

    def forget(self, name: str) -> None:
        self.variables.pop(name, None)
        self.arrays.pop(name, None)

    def blur(self, before: State) -> None:
        """After a branch that may not have run: what it changed is no longer known."""
        for name in self.variables.keys() | before.variables.keys():
            now, then = self.variables.get(name), before.variables.get(name)
            if now != then:
                both = (now.taint if now is not None else 0) | (
                    then.taint if then is not None else 0
                )
                self.variables[name] = arg(UNKNOWN, NOWHERE, both)
        for name, items in before.arrays.items():
            if self.arrays.get(name) != items:
                self.arrays[name] = [arg(UNKNOWN, NOWHERE)]
        if self.cwd != before.cwd:
            self.cwd = UNKNOWN
        # A descriptor that a branch opened may be open: it stays, the newer one where both did.
        self.descriptors = {**before.descriptors, **self.descriptors}

    def open(self, path: Arg, *, name: str = "", span: Span = NOWHERE) -> str:
        """A new descriptor for a path; its number, also kept in the variable `name`."""
        number = str(10 + len(self.descriptors))
        self.descriptors[number] = path
        if name:
            self.assign(name, arg(number, span))
        return number

    def behind(self, path: str) -> str:
        """What `/dev/fd/3` and its like lead to, where the script opened them."""
        if path.startswith(_DESCRIPTORS):
            held = self.descriptors.get(path.rpartition("/")[2])
            if held is not None:
                return str(held)
            if path.startswith("/proc/"):
                return "/dev/fd/" + path.rpartition("/")[2]
        return path


class Files:
    """What the script itself has put into files and descriptors."""

    __slots__ = ("by_path", "changes", "count", "doubts", "sinks")

    def __init__(self) -> None:
        self.by_path: dict[str, Stream] = {}
        self.count = 0
        self.changes = 0
        self.doubts = 0
        """How many conditions stand around what is written now: it may not happen."""
        self.sinks: dict[str, Callable[[Stream], None]] = {}
        """Processes that read what is written to a path: `>(…)`, coprocesses."""

    def put(self, path: str, stream: Stream, *, append: bool = False) -> None:
        arriving = stream
        earlier = self.by_path.get(path)
        if earlier is not None and not append:
            doubtful = self.doubts and earlier.taint & ~stream.taint
            earlier = None
            if doubtful:
                stream = Stream(None, stream.taint | doubtful, stream.source)
        if earlier is not None:
            known = earlier.text is not None and stream.text is not None
            stream = Stream(
                f"{earlier.text}{stream.text}" if known else None,
                earlier.taint | stream.taint,
                stream.source or earlier.source,
            )
        self.by_path[path] = stream
        self.changes += 1
        sink = self.sinks.get(path)
        if sink is not None:
            sink(arriving)

    def get(self, path: str) -> Stream | None:
        """What lies at a path, or in a directory that was fetched as a whole."""
        found = self.by_path.get(path)
        if found is not None:
            return found
        while "/" in path[1:]:
            path = path.rpartition("/")[0]
            found = self.by_path.get(path + "/")
            if found is not None:
                return Stream(None, found.taint, found.source)
        return None

    def below(self, path: str) -> list[tuple[str, Stream]]:
        """What the script has put into a directory, at any depth."""
        if not self.by_path:
            return []
        start = path.rstrip("/") + "/"
        return [(name, held) for name, held in self.by_path.items() if name.startswith(start)]

    def descriptor(self, stream: Stream) -> str:
        """A name such as /dev/fd/63 for a stream that a process substitution gives."""
        self.count += 1
        path = f"/dev/fd/{64 + self.count}"
        self.by_path[path] = stream
        return path
