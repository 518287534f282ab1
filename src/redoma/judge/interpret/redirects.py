"""Redirections: what flows in, and where what flows out ends up."""

from __future__ import annotations

from redoma.judge.interpret.arg import (
    ANYTHING,
    NETWORK,
    NOTHING,
    SECRET,
    UNKNOWN,
    Arg,
    Stream,
    arg,
)
from redoma.judge.interpret.globbing import reaches_accounts
from redoma.judge.interpret.paths import normal, place_of
from redoma.judge.interpret.sensitive import is_secret
from redoma.judge.interpret.variables import judge_steering
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walk import Walker
    from redoma.model.script import Redirect, Span

_WRITING = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))


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
    from redoma.judge.interpret.call import Call

    call = Call(walker, [word], state, NOTHING, {}, span)
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
    call.fact(Effect.WRITES, target, tags=(*tags_, *marks), at=span)
    walker.files.put(path, carried, append=append)
