"""Files of a script: what redirections read and write, what lies in them, who runs it later."""

from __future__ import annotations

from redoma.judge.interpret.arg import (
    ANYTHING,
    ENDLESS,
    NETWORK,
    NOTHING,
    SECRET,
    UNKNOWN,
    Arg,
    Stream,
    arg,
    joined,
)
from redoma.judge.interpret.carriers import imports
from redoma.judge.interpret.invocation import Invocation
from redoma.judge.interpret.loops import from_device
from redoma.judge.interpret.places import normal, place_of
from redoma.judge.interpret.sensitive import is_secret, reaches_accounts
from redoma.judge.interpret.variables import judge_steering
from redoma.judge.text.budget import spend
from redoma.judge.text.glob import glob
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walker import Walker
    from redoma.model.script import Redirect, Span

_WRITING = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))
_LANGUAGES = {
    ".sh": "shell",
    ".bash": "shell",
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".rb": "ruby",
    ".pl": "perl",
    ".php": "php",
    ".lua": "lua",
}
_NAMED = {"Rakefile": "ruby", "Gemfile": "ruby", "justfile": "shell", "Justfile": "shell"}
_RUN_BY_NAME = frozenset(
    "Makefile makefile GNUmakefile package.json setup.py conftest.py Rakefile Gemfile justfile "
    "build.rs build.gradle build.gradle.kts CMakeLists.txt noxfile.py tasks.py gulpfile.js "
    "Gruntfile.js vite.config.js jest.config.js sitecustomize.py".split()
)
"""Files that build tools run because of their names."""
_RUNNING = frozenset((Effect.EXECUTES, Effect.INSTALLS))
_EXCUSED = frozenset(("prepared", "eval", "source"))
MOST_FILES = 12
_SHEBANGS = (
    ("python", "python"),
    ("node", "javascript"),
    ("deno", "javascript"),
    ("bun", "javascript"),
    ("perl", "perl"),
    ("ruby", "ruby"),
    ("php", "php"),
    ("lua", "lua"),
    ("Rscript", "r"),
    ("julia", "julia"),
    ("tclsh", "tcl"),
    ("expect", "tcl"),
    ("elixir", "elixir"),
    ("groovy", "groovy"),
    ("osascript", "applescript"),
    ("pwsh", "powershell"),
)


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
        spend(len(self.by_path))
        above = [name for name in self.by_path if name[-1:] == "/" and path.startswith(name)]
        if not above:
            return None
        fetched = self.by_path[max(above, key=len)]
        return Stream(None, fetched.taint, fetched.source)

    def matching(self, path: str) -> Stream | None:
        """What lies at the paths that a pattern stands for; nothing is known but its taint."""
        pattern = glob(path)
        fits = [held for name, held in self.by_path.items() if pattern and pattern.fits(name)]
        return Stream(None, joined(fits).taint, fits[0].source) if fits else None

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


class Redirects:
    """The redirections of one command, opened before it runs and settled after."""

    def __init__(
        self, walker: Walker, redirects: tuple[Redirect, ...], state: State, stdin: Stream
    ) -> None:
        self.walker = walker
        self.state = state
        self.stdin = stdin
        self.outputs: list[tuple[Redirect, str, Arg]] = []
        self.hosts: list[Arg] = []
        self.emptied = False
        self._own: dict[str, Arg] = {}
        self._fed = False
        for redirect in redirects:
            self._open(redirect)

    def _open(self, redirect: Redirect) -> None:
        op = redirect.op
        word = self.walker.expander.one(redirect.target, self.state)
        if op in ("<<", "<<-"):
            self._feed(redirect.fd, Stream(str(word), word.taint))
        elif op == "<<<":
            self._feed(redirect.fd, Stream(f"{word}\n", word.taint))
        elif op in ("<&", ">&") and (word.rstrip("-").isdigit() or word in ("-", "")):
            self._duplicate(redirect, word.rstrip("-"))
        elif op in ("<&", ">&") and UNKNOWN in word and not word.strip(UNKNOWN + "-"):
            self._duplicate_any(redirect)
        else:
            self._open_file(redirect, arg(word, redirect.target.span, word.taint))

    def _open_file(self, redirect: Redirect, word: Arg) -> None:
        op = redirect.op
        if op == "<":
            if redirect.fd in ("", "0"):
                self._feed("0", self._read(word))
            else:
                self._read(word)
                self._name(redirect.fd, word)
        elif op in _WRITING:
            fd = redirect.fd or ("0" if op == "<>" else "1")
            if fd not in ("0", "1", "2"):
                fd = self._name(fd, word)
            self._own[fd] = word
            if op == "<>" and fd == "0":
                self._feed("0", self._read(word))
            elif op == "<>":
                self._read(word)
            self.outputs.append((redirect, fd, word))

    def _feed(self, fd: str, stream: Stream) -> None:
        """What a descriptor reads from: standard input, or one that a later `<&3` may take."""
        if fd in ("", "0"):
            self.stdin = stream
            self._fed = True
        else:
            path = self.walker.files.descriptor(stream)
            self._name(fd, arg(path, (0, 0)))

    def _name(self, fd: str, word: Arg) -> str:
        """Keeps an opened descriptor for later commands; `{name}` gets a number of its own."""
        path = arg(self._path(word), word.span, word.taint)
        if fd.startswith("{"):
            name = fd.strip("{}")
            judge_steering(self.walker, name, arg("10", word.span), self.state)
            return self.state.open(path, name=name, span=word.span)
        self.state.descriptors[fd] = path
        return fd

    def _path(self, word: Arg) -> str:
        return self.state.behind(normal(word, self.state.cwd))

    def _duplicate(self, redirect: Redirect, number: str) -> None:
        held = self._own.get(number) or self.state.descriptors.get(number)
        fd = redirect.fd or ("1" if redirect.op == ">&" else "0")
        if held is None:
            return
        held = arg(held, redirect.span, held.taint)
        if fd == "0":
            # `bash >&/dev/tcp/… 0>&1`: what was opened for writing is read as well.
            self._feed("0", self._read(held))
            return
        if fd not in ("1", "2"):
            self._name(fd, held)
        self._own[fd] = held
        if fd == "1" and redirect.op == ">&":
            self.outputs.append((redirect, fd, held))

    def _duplicate_any(self, redirect: Redirect) -> None:
        """`>&$fd` with an unknown number: every descriptor that is open could be meant."""
        for held in dict.fromkeys(self.state.descriptors.values()):
            word = arg(held, redirect.span, held.taint)
            if redirect.op == ">&":
                self.outputs.append((redirect, redirect.fd or "1", word))
            else:
                self._feed("0", self._read(word))

    def _read(self, word: Arg) -> Stream:
        path = self._path(word)
        held = self.walker.files.get(path)
        place = place_of(path, self.walker.ground)
        endless = from_device(path)
        if endless is not None:
            return endless
        if place is Place.HOST:
            self.hosts.append(word)
            self.walker.note(
                Effect.NETWORK, word.span, Target(text=word, place=place), tags=("download", "raw")
            )
            return Stream(None, NETWORK, str(word))
        if held is not None:
            return held
        if is_secret(path):
            target = Target(text=word, place=Place.SECRET, path=path)
            inside = place in (Place.WORKSPACE, Place.TEMP, Place.REPOSITORY)
            tags = () if inside else ("outside",)
            self.walker.note(Effect.SECRETS, word.span, target, tags=tags)
            return Stream(None, SECRET, str(word))
        if place is not Place.NOWHERE:
            tags = ("account-database",) if reaches_accounts(path) else ()
            target = Target(text=word, place=place, path=path)
            self.walker.note(Effect.READS, word.span, target, tags=tags)
        return Stream(None, source=str(word)) if place is not Place.NOWHERE else ANYTHING

    def keep(self) -> None:
        """`exec` without a program: the redirections hold for everything that follows."""
        for fd in ("1", "2"):
            if fd in self._own:
                self.state.descriptors[fd] = arg(self._path(self._own[fd]), self._own[fd].span)
        if self._fed:
            self.state.stdin = self.stdin

    def finish(self, out: Stream) -> Stream:
        """Settles the outputs with what the command gave; what is left flows on."""
        if not self.outputs:
            return out
        flowing = out
        for redirect, fd, word in self.outputs:
            standard = fd == "1" or redirect.op.startswith("&")
            carried = out if standard else ANYTHING
            append = ">>" in redirect.op or redirect.op == "<>" or self._reopened(redirect, word)
            emptied = self.emptied and fd not in ("0",)
            settle(
                self.walker,
                self.state,
                word,
                carried,
                redirect.span,
                append=append,
                emptied=emptied,
            )
            if place_of(self._path(word), self.walker.ground) is Place.HOST:
                self.hosts.append(word)
            if standard:
                flowing = NOTHING
        return flowing

    @staticmethod
    def _reopened(redirect: Redirect, word: Arg) -> bool:
        """`>&3` goes on writing where `3` stands; it does not cut the file."""
        return redirect.op == ">&" and word.span == redirect.span


def settle(
    walker: Walker,
    state: State,
    word: Arg,
    carried: Stream,
    span: Span,
    *,
    append: bool,
    emptied: bool = False,
) -> None:
    """What flows out arrives: in a file, at another machine, or in a process that reads it."""

    call = Invocation(walker, [word], state, NOTHING, {}, span)
    call.name = ">"
    path = call.path(word)
    target, marks = call.written_target(word)
    if target.place is Place.HOST:
        tags = ("upload", "raw")
        if carried.taint & SECRET:
            walker.note(Effect.EXFILTRATES, span, target, tags=tags)
        call.fact(Effect.NETWORK, target, tags=tags, at=span)
        return
    if target.place is Place.NOWHERE:
        if path != "/dev/null":
            walker.files.put(path, carried, append=append)
        return
    tags_: tuple[str, ...] = ("append",) if append else ("overwrite",)
    if not append and (emptied or carried.text in ("", "\n")):
        tags_ = ("overwrite", "empties")
    if carried.taint & SECRET:
        tags_ = (*tags_, "secret")
    if carried.taint & ENDLESS:
        call.fact(Effect.SYSTEM, target, tags=("fills",), at=span)
    call.fact(Effect.WRITES, target, tags=(*tags_, *marks), at=span)
    walker.files.put(path, carried, append=append)


def language_of(text: str) -> str:
    """The language that a script's first line names; without one the shell reads it."""
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        for mark, language in _SHEBANGS:
            if mark in first:
                return language
    return "shell"


def run_written(walker: Walker, state: State) -> None:
    """Attack: `conftest.py` is written, then `pytest` runs it: the code is read as if it ran.

    Only where something is run at all: a script that only writes files runs nothing.
    """
    if not any(f.effect in _RUNNING and f.tags.isdisjoint(_EXCUSED) for f in walker.facts):
        return
    span = (0, len(walker.text))
    for path, held in list(walker.files.by_path.items())[:MOST_FILES]:
        text = held.text
        if path in walker.scripts.made:
            continue
        if held.taint & NETWORK and path.rpartition("/")[2] in _RUN_BY_NAME:
            walker.note(Effect.DOWNLOADS_AND_EXECUTES, span, detail=path)
        elif held.taint & NETWORK:
            imports(walker, path, span)
        if not text or UNKNOWN in text or path.startswith("/dev/"):
            continue
        call = Invocation(walker, [arg(path, span)], state.copy(), NOTHING, {}, span)
        name = path.rpartition("/")[2]
        if name == "package.json":
            for script in _scripts(text):
                call.run_shell(arg(script, span))
            continue
        dot = name.rfind(".")
        language = _NAMED.get(name) or _LANGUAGES.get(name[dot:] if dot >= 0 else "")
        if language is not None:
            call.reads_code(language, arg(text, span))


def _scripts(text: str) -> list[str]:
    """The commands that a `package.json` names; a broken one names none that npm would run."""
    try:
        from json import loads

        held = loads(text)
    except ValueError:
        return []
    scripts = held.get("scripts") if isinstance(held, dict) else None
    if not isinstance(scripts, dict):
        return []
    return [script for script in scripts.values() if isinstance(script, str)][:MOST_FILES]
