"""What the shell knows at a point of the script: variables, directory, functions, aliases."""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN, Arg, Stream, arg
from redoma.judge.text.budget import spend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from redoma.model.script import Command, Span

    class FileReader(Protocol):
        """Who reads the script files of a workspace for the judge, which opens none."""

        def read(self, path: str) -> str | None:
            """The text of an ordinary file, or None: not there, not to be read, too large."""


NOWHERE = (0, 0)
DEFAULT_IFS = " \t\n"
MOST_LINKS = 8
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/")


class Ground:
    """Where a script is taken to run: the workspace, the home directory, who reads files there."""

    __slots__ = ("home", "reader", "workspace")

    def __init__(self, workspace: str, home: str, reader: FileReader | None = None) -> None:
        self.workspace = workspace
        self.home = home
        self.reader = reader


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
        "hashed",
        "history",
        "integers",
        "keyed",
        "links",
        "positional",
        "references",
        "stdin",
        "variables",
    )

    def __init__(self, ground: Ground) -> None:
        self.variables: dict[str, Arg] = {}
        self.arrays: dict[str, list[Arg]] = {}
        self.keyed: dict[str, dict[str, Arg]] = {}
        """Elements by their subscript; their values stand in `arrays` too."""
        self.integers: set[str] = set()
        """Names whose values bash calculates: `declare -i`."""
        self.hashed: dict[str, Arg] = {}
        """Where a name's program lies, as the shell was told: `hash -p`, `BASH_CMDS`."""
        self.history: list[Arg] = []
        """What `history -s` put there."""
        self.exported: set[str] = set()
        self.functions: dict[str, Command] = {}
        self.aliases: dict[str, str] = {}
        self.references: dict[str, str] = {}
        """Names that stand for other names: `declare -n`."""
        self.links: dict[str, str] = {}
        """Links that the script made, and where they lead; the same for every subshell."""
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
            ("BASH", "/bin/bash"),
            ("USER", ground.home.rpartition("/")[2]),
            ("LOGNAME", ground.home.rpartition("/")[2]),
            ("UID", "1000"),
            ("EUID", "1000"),
        ):
            self.variables[name] = arg(value, NOWHERE)

    def copy(self) -> State:
        other = State.__new__(State)
        other.variables = dict(self.variables)
        other.arrays = dict(self.arrays)
        other.keyed = dict(self.keyed)
        other.integers = set(self.integers)
        other.hashed = dict(self.hashed)
        other.history = list(self.history)
        other.exported = set(self.exported)
        other.functions = dict(self.functions)
        other.aliases = dict(self.aliases)
        other.references = dict(self.references)
        other.links = self.links
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
        self.keyed.pop(name, None)
        self.variables[name] = value
        if name == "BASH_ARGV0":
            self.variables["0"] = value

    def value(self, name: str) -> Arg | None:
        """What a plain name gives: of an array, its first element."""
        name = self.references.get(name, name)
        items = self.arrays.get(name)
        return items[0] if items else self.variables.get(name)

    def put_element(self, name: str, key: str, value: Arg) -> None:
        """`name[key]=value`: kept under its key, and among the values in order."""
        name = self.references.get(name, name)
        items = list(self.arrays.get(name, ()))
        keyed = dict(self.keyed.get(name, {}))
        index = int(key) if key.isdigit() and len(key) < 6 else -1
        if name in self.variables and not items:
            items = [self.variables.pop(name)]
        if 0 <= index < len(items) and not keyed:
            items[index] = value
        elif index == len(items) and not keyed:
            items.append(value)
        else:
            keyed = keyed or {str(at): item for at, item in enumerate(items)}
            keyed[key] = value
            if all(each.isdigit() for each in keyed):
                # `a=([2]=x [0]=y)`: an array gives its elements in the order of their numbers.
                keyed = dict(sorted(keyed.items(), key=lambda item: int(item[0][:9])))
            items = list(keyed.values())
            self.keyed[name] = keyed
        self.arrays[name] = items
        if name == "BASH_ALIASES":
            self.aliases[key] = str(value)
        elif name == "BASH_CMDS":
            self.hashed[key] = value

    def forget(self, name: str) -> None:
        self.variables.pop(name, None)
        self.arrays.pop(name, None)
        self.keyed.pop(name, None)

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
                self.keyed.pop(name, None)
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
        return self.followed(path) if self.links else path

    def followed(self, path: str) -> str:
        """The path behind the links that this script made.

        Attack: `ln -s ~ d && rm -rf d/*`: what lies below a link is what lies where it leads.
        """
        for _ in range(MOST_LINKS):
            spend(2 * len(self.links) + len(path))
            through = [link for link in self.links if f"{path}/".startswith(f"{link}/")]
            if not through:
                break
            longest = max(through, key=len)
            path = self.links[longest].rstrip("/") + path[len(longest) :] or "/"
        return path

    def link(self, path: str, target: str) -> None:
        """Notes a link; one to what nobody knows, or to itself, leads nowhere that counts."""
        if (
            UNKNOWN not in path
            and UNKNOWN not in target
            and not f"{target}/".startswith(f"{path}/")
        ):
            self.links[path] = target


class TextFrame:
    """How spans of a nested text map to the text that the caller wrote."""

    __slots__ = ("file", "line", "offset", "span", "text")

    def __init__(
        self, span: Span | None, offset: int | None, file: str = "", line: int = 0, text: str = ""
    ) -> None:
        self.span = span
        self.offset = offset
        self.file = file
        """The file that the text lies in, as a reason names it."""
        self.line = line
        """The line of that file, where it is one for the whole text."""
        self.text = text
        """All of the file, where spans are places in it."""

    def line_of(self, span: Span) -> int:
        """The line of the file that a span begins in; 0 where that is not known."""
        return self.text.count("\n", 0, span[0]) + 1 if self.text else self.line

    def where(self, span: Span) -> str:
        """`file:line` of a span; nothing outside of files."""
        if not self.file:
            return ""
        line = self.line_of(span)
        return f"{self.file}:{line}" if line else self.file

    def outer(self, span: Span) -> Span:
        if self.span is None:
            return span
        if self.offset is None:
            return self.span
        return (span[0] + self.offset, span[1] + self.offset)
