"""A program called with words, and the means to say what that does."""

from __future__ import annotations

from redoma.judge.interpret.arg import (
    ANYTHING,
    BULK,
    DECODED,
    EXACT,
    IDENTITY,
    NETWORK,
    PLAIN,
    SECRET,
    UNKNOWN,
    Arg,
    Stream,
    arg,
)
from redoma.judge.interpret.places import normal, place_of, root_if_empty, steers_kernel
from redoma.judge.interpret.sensitive import (
    is_credential,
    is_guard,
    is_identity,
    is_secret,
    is_startup,
    is_vital,
    keeps_secrets,
    may_reach_secret,
    program_place,
    reaches_accounts,
    shadows_program,
)
from redoma.judge.text.glob import has_glob
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.files import Redirects
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walker import Walker
    from redoma.model.script import Span


_COPIERS = frozenset(("rsync", "scp", "cp"))
_PACKERS = frozenset("tar gtar bsdtar zip 7z 7za 7zz cpio pax".split()) | _COPIERS
_STANDARD_INPUT = frozenset(("/dev/stdin", "/dev/fd/0"))


class Invocation:
    """One command about to run: its word, its arguments, what flows in, where it stands."""

    __slots__ = (
        "args",
        "environment",
        "modules",
        "name",
        "redirects",
        "span",
        "state",
        "stdin",
        "walker",
        "word",
    )

    def __init__(
        self,
        walker: Walker,
        words: list[Arg],
        state: State,
        stdin: Stream,
        environment: dict[str, Arg],
        span: Span,
        *,
        redirects: Redirects | None = None,
    ) -> None:
        self.walker = walker
        self.word = words[0]
        self.args = words[1:]
        self.name = str(words[0]).rpartition("/")[2] or str(words[0])
        self.state = state
        self.stdin = stdin
        self.environment = environment
        self.span = span
        self.redirects = redirects
        self.modules: tuple[str, ...] = ()
        """What the words make an interpreter load beside its code."""

    # Saying what it does ----------------------------------------------------------------------

    def fact(
        self,
        effect: Effect,
        *targets: Target,
        tags: tuple[str, ...] = (),
        at: Span | None = None,
        detail: str = "",
    ) -> None:
        """Notes an effect, at the whole command unless a narrower span is given."""
        self.walker.note(
            effect,
            at if at is not None else self.span,
            *targets,
            tags=tags,
            program=self.name,
            detail=detail,
        )

    def path(self, word: Arg) -> str:
        """The absolute path that an argument names."""
        return self.state.behind(normal(word, self.state.cwd))

    def reads(self, word: Arg, *tags: str) -> Stream:
        """A file is read; gives what is known of its content."""
        path = self.path(word)
        place = place_of(path, self.walker.ground)
        if place is Place.NOWHERE:
            if path in _STANDARD_INPUT:
                return self.stdin
            return self.walker.files.get(path) or ANYTHING
        taint = word.taint & NETWORK
        if is_identity(path):
            taint |= IDENTITY
        elif keeps_secrets(path):
            taint |= SECRET
        if is_secret(path) or may_reach_secret(path):
            taint |= SECRET
            inside = place in (Place.WORKSPACE, Place.TEMP, Place.REPOSITORY)
            inside = inside and not is_credential(path)
            marks = tags if inside else (*tags, "outside")
            target = Target(text=word, place=Place.SECRET, path=path)
            self.fact(Effect.SECRETS, target, tags=marks, at=word.span)
        else:
            marks = (*tags, "account-database") if reaches_accounts(path) else tags
            target = Target(text=word, place=place, path=path)
            self.fact(Effect.READS, target, tags=marks, at=word.span)
        taint |= self._packed(path)
        held = self.walker.files.get(path)
        if held is not None:
            return Stream(held.text, held.taint | taint, held.source)
        return Stream(None, taint, str(word))

    def _packed(self, path: str) -> int:
        """What a directory carries: what this script put there, or all there is."""
        taint = PLAIN
        for inside, stream in self.walker.files.below(path):
            taint |= stream.taint
            if is_secret(inside) or keeps_secrets(inside):
                taint |= SECRET
        if self.name in _PACKERS:
            ground = self.walker.ground
            if path in (ground.home, "/", "/home", "/root", "/Users", "/etc"):
                taint |= SECRET
            elif path == ground.workspace and self.name not in _COPIERS:
                taint |= BULK
        return taint

    def writes(self, word: Arg, *tags: str, content: Stream | None = None) -> None:
        """A file is made, changed or replaced."""
        target, marks = self.written_target(word)
        path = self.path(word)
        if content is not None and content.taint & NETWORK and program_place(path) is not None:
            # Attack: what another machine sent becomes a program that a person calls by its name.
            target = Target(text=word, place=Place.STARTUP, path=path)
        if target.place is Place.HOST:
            self.sends(content.taint if content is not None else self.taint(), word, "raw")
        elif target.place is not Place.NOWHERE:
            self.fact(Effect.WRITES, target, tags=(*tags, *marks), at=word.span)
        if content is not None:
            self.walker.files.put(path, content)

    def named(self, word: Arg) -> str:
        """The path of a name itself: where that is a link, of the link."""
        path = normal(word, self.state.cwd)
        if not self.state.links or word.endswith("/"):
            return self.state.behind(path)
        folder, _, name = path.rpartition("/")
        return f"{self.state.behind(folder)}/{name}"

    def deletes(self, word: Arg, *tags: str) -> None:
        """A file or tree is removed; of a link, the link alone."""
        path = self.named(word)
        target, marks = self._written(word, path)
        if path in self.state.links and not self.walker.files.doubts:
            del self.state.links[path]
        if is_vital(path):
            marks = (*marks, "vital")
        self.fact(Effect.DELETES, target, tags=(*tags, *marks), at=word.span)

    def written_target(self, word: Arg) -> tuple[Target, tuple[str, ...]]:
        """Where a write would land, with what makes the place special."""
        return self._written(word, self.path(word))

    def _written(self, word: Arg, path: str) -> tuple[Target, tuple[str, ...]]:
        ground = self.walker.ground
        place = Place.DEVICE if steers_kernel(path) else place_of(path, ground)
        marks: list[str] = []
        if root_if_empty(path):
            marks.append("root-if-empty")
        if place is Place.WORKSPACE and path.rstrip("*").rstrip("/.") in (ground.workspace, ""):
            marks.append("whole")
        if path.startswith(("/proc/", "/sys/")) and place is not Place.NOWHERE:
            # What is written there changes the running kernel, not a file.
            place = Place.DEVICE
        if place in (Place.ROOT, Place.DEVICE, Place.HOST, Place.NOWHERE):
            return Target(text=word, place=place, path=path), tuple(marks)
        if place is not Place.SYSTEM_TREE and place is not Place.HOME_ROOT:
            if is_guard(path):
                place = Place.GUARD
            elif is_startup(path) or shadows_program(path, self.walker.knowledge):
                marks.append(place.value)
                place = Place.STARTUP
            elif is_secret(path):
                marks.append(place.value)
                place = Place.SECRET
        return Target(text=word, place=place, path=path), tuple(marks)

    def host(self, word: Arg | str, *tags: str, at: Span | None = None) -> None:
        """Another machine is talked to."""
        from redoma.judge.interpret.hosts import host_target

        span = at or getattr(word, "span", self.span)
        target, marks = host_target(str(word))
        self.fact(Effect.NETWORK, target, tags=(*tags, *marks), at=span)

    def sends(self, carried: int, word: Arg | str, *tags: str) -> None:
        """Something goes to another machine; secrets among it are exfiltration."""
        from redoma.judge.interpret.hosts import host_target

        target, marks = host_target(str(word))
        span = getattr(word, "span", self.span)
        if carried & IDENTITY:
            tags = (*tags, "identity")
        if carried & BULK:
            tags = (*tags, "whole")
        if carried & SECRET:
            self.fact(Effect.EXFILTRATES, target, tags=(*tags, *marks), at=self.span)
        self.fact(Effect.NETWORK, target, tags=("upload", *tags, *marks), at=span)

    # Running what it carries ------------------------------------------------------------------

    def run_args(
        self,
        words: list[Arg],
        *,
        stdin: Stream | None = None,
        environment: dict[str, Arg] | None = None,
    ) -> Stream:
        """Runs another program with the given words, as a wrapper does."""
        if not words:
            return ANYTHING
        inner = Invocation(
            self.walker,
            words,
            self.state,
            self.stdin if stdin is None else stdin,
            {**self.environment, **(environment or {})},
            (words[0].span[0], max(words[-1].span[1], words[0].span[1])),
            redirects=self.redirects,
        )
        return self.walker.run(inner)

    def run_shell(
        self,
        text: Arg,
        positional: list[Arg] | None = None,
        *,
        stdin: Stream | None = None,
        zero: Arg | None = None,
    ) -> Stream:
        """Runs a text as shell code in a shell of its own."""
        if text.taint & NETWORK:
            self.fact(Effect.DOWNLOADS_AND_EXECUTES, at=text.span)
        if text.strip(UNKNOWN + " ;") == "":
            if UNKNOWN in text:
                self.unknown_code(text.span)
            return ANYTHING
        state = self.state.copy()
        for name, value in self.environment.items():
            state.variables[name] = value
            state.exported.add(name)
        if zero is not None:
            state.variables["0"] = zero
        return self.walker.nested(text, state, self.stdin if stdin is None else stdin, positional)

    def reads_perhaps(self, text: Arg) -> Stream:
        """Reads a text that may be a command line; what nobody knows in it counts for nothing."""
        facts, noted = self.walker.facts, len(self.walker.facts)
        out = self.run_shell(text)
        facts[noted:] = [each for each in facts[noted:] if each.effect is not Effect.UNKNOWN]
        return out

    def begins_code(self, language: str, text: Arg, *tags: str) -> None:
        """Notes that code runs, and that it came from another machine where it did."""
        self.fact(Effect.EXECUTES, tags=("code", *tags), at=text.span, detail=language)
        if text.taint & NETWORK:
            self.fact(Effect.DOWNLOADS_AND_EXECUTES, at=text.span)

    def unknown_code(self, at: Span) -> None:
        """Notes code that nobody knows before it runs."""
        self.fact(Effect.UNKNOWN, tags=("code",), at=at)

    def reads_code(self, language: str, text: Arg) -> Stream:
        """Notes what code in another language would do; gives what it prints, if that is known."""
        return self.walker.knowledge.read_code(self, language, text)

    def executes_stream(
        self,
        stream: Stream,
        language: str = "shell",
        *,
        positional: list[Arg] | None = None,
    ) -> Stream:
        """Runs what flows in, as an interpreter without a script does."""
        if stream.taint & DECODED:
            self.fact(Effect.EXECUTES, tags=("decoded",), detail=language)
        if stream.taint & NETWORK:
            exact = ("exact",) if stream.taint & EXACT else ()
            self.fact(Effect.DOWNLOADS_AND_EXECUTES, tags=exact, detail=stream.source)
        if stream.text is None:
            self.fact(Effect.EXECUTES, tags=("stream",), detail=language)
            return ANYTHING
        if language == "shell":
            text = arg(stream.text, self.span, stream.taint)
            return self.walker.nested(text, self.state.copy(), positional=positional)
        return self.reads_code(language, arg(stream.text, self.span, stream.taint))

    def scripts_in(self, files: list[Arg], language: str) -> list[Arg]:
        """The texts of script files that are known; the others are executed, whatever they say."""
        known = []
        for word in files:
            from_input = word in ("-", "/dev/stdin")
            held = self.stdin if from_input else self.walker.files.get(self.path(word))
            if from_input and self.stdin.text is None:
                self.executes_stream(self.stdin, language)
            elif held is not None and held.text is not None:
                known.append(word.like(held.text))
            else:
                self.executes_file(word, language)
        return known

    def executes_file(
        self,
        word: Arg,
        language: str = "shell",
        *,
        positional: list[Arg] | None = None,
        here: bool = False,
    ) -> Stream:
        """Runs a file, `here` in this shell: what is known of it is read, the rest is said."""
        path = self.path(word)
        if path in _STANDARD_INPUT:
            return self.executes_stream(self.stdin, language, positional=positional)
        held = self.walker.files.get(path)
        if held is None and self.walker.files.by_path and has_glob(path):
            held = self.walker.files.matching(path)
        if held is not None:
            if held.taint & NETWORK:
                self.fact(Effect.DOWNLOADS_AND_EXECUTES, at=word.span, detail=held.source)
            if held.text is not None:
                from redoma.judge.interpret.files import language_of

                language = language or language_of(held.text)
                if language == "shell":
                    state = self.state if here else self.state.copy()
                    text = arg(held.text, word.span)
                    return self.walker.nested(text, state, self.stdin, positional)
                return self.reads_code(language, arg(held.text, word.span))
            if not held.source:
                # What another program printed into it nobody has seen.
                self.fact(Effect.EXECUTES, tags=("stream",), at=word.span, detail=language)
        place = place_of(path, self.walker.ground)
        if is_secret(path) and place is not Place.WORKSPACE:
            place = Place.SECRET
        if place is Place.HOST:
            # Attack: `source /dev/tcp/host/port`: whoever answers there types the commands.
            self.fact(Effect.NETWORK, tags=("reverse-shell",), at=word.span)
        tag = "file" if word.known else "unknown-file"
        target = Target(text=word, place=place, path=path)
        self.fact(Effect.EXECUTES, target, tags=(tag,), at=word.span)
        if held is None and self.walker.ground.reader is not None:
            from redoma.judge.interpret.script_files import run_script

            out = run_script(self, word, language, positional=positional, here=here)
            return out if out is not None else ANYTHING
        return ANYTHING

    def taint(self, taint: int | None = None) -> int:
        """What all its words carry, and its input or what is given in its place."""
        taint = self.stdin.taint if taint is None else taint
        for word in self.args:
            taint |= word.taint
        return taint

    def passes_on(self, *streams: Stream) -> Stream:
        """The output of a filter: nothing known of its text, all taint kept."""
        taint, source = PLAIN, ""
        for stream in streams:
            taint |= stream.taint
            source = source or stream.source
        return Stream(None, self.taint(taint) & ~EXACT, source)
