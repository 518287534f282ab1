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
from redoma.judge.places import normal, place_of
from redoma.judge.sensitive import is_secret
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walk import Walker
    from redoma.model.script import Redirect

_WRITING = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))


class Redirects:
    """The redirections of one command, opened before it runs and settled after."""

    def __init__(
        self, walker: Walker, redirects: tuple[Redirect, ...], state: State, stdin: Stream
    ) -> None:
        self.walker = walker
        self.state = state
        self.stdin = stdin
        self.outputs: list[tuple[Redirect, Arg]] = []
        self.hosts: list[Arg] = []
        self.emptied = False
        for redirect in redirects:
            self._open(redirect)

    def _open(self, redirect: Redirect) -> None:
        op = redirect.op
        word = self.walker.expander.one(redirect.target, self.state)
        if op in ("<<", "<<-"):
            if redirect.fd in ("", "0"):
                self.stdin = Stream(None if UNKNOWN in word else str(word), word.taint)
                if UNKNOWN in word:
                    self.stdin = Stream(str(word), word.taint)
            return
        if op == "<<<":
            self.stdin = Stream(f"{word}\n", word.taint)
            return
        if op in ("<&", ">&") and (word.rstrip("-").isdigit() or word in ("-", "")):
            self._duplicate(redirect, word)
            return
        word = arg(word, redirect.target.span, word.taint)
        if op == "<":
            self.stdin = self._read(word)
            return
        if op == "<&":
            return
        if op in _WRITING:
            self.outputs.append((redirect, word))

    def _duplicate(self, redirect: Redirect, word: Arg) -> None:
        held = self.state.variables.get(f"&{word.rstrip('-')}")
        if held is not None:
            if redirect.op == ">&":
                self.outputs.append((redirect, arg(held, redirect.span, held.taint)))
                self.state.variables[f"&{redirect.fd or '1'}"] = held
            else:
                self.stdin = self._read(arg(held, redirect.span))

    def _read(self, word: Arg) -> Stream:
        path = normal(word, self.state.cwd)
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
            target = Target(text=word, place=Place.SECRET)
            self.walker.note(Effect.SECRETS, word.span, target)
            return Stream(None, SECRET, str(word))
        if place is not Place.NOWHERE:
            self.walker.note(Effect.READS, word.span, Target(text=word, place=place))
        return Stream(None, source=str(word)) if place is not Place.NOWHERE else ANYTHING

    def finish(self, out: Stream) -> Stream:
        """Settles the outputs with what the command gave; what is left flows on."""
        if not self.outputs:
            return out
        from redoma.judge.interpret.call import Call

        flowing = out
        for redirect, word in self.outputs:
            standard = redirect.fd in ("", "1") or redirect.op.startswith("&")
            if redirect.op == "<>" and redirect.fd in ("", "0"):
                standard = False
            carried = out if standard else ANYTHING
            call = Call(self.walker, [word], self.state, NOTHING, {}, redirect.span)
            call.name = ">"
            self._settle(call, redirect, word, carried)
            if standard:
                flowing = NOTHING
        return flowing

    def _settle(self, call: Call, redirect: Redirect, word: Arg, carried: Stream) -> None:
        path = normal(word, self.state.cwd)
        place = place_of(path, self.walker.ground)
        if place is Place.HOST:
            self.hosts.append(word)
            tags = ("upload", "raw")
            if carried.taint & SECRET:
                target = Target(text=word, place=place)
                self.walker.note(Effect.EXFILTRATES, redirect.span, target, tags=tags)
            call.fact(Effect.NETWORK, Target(text=word, place=place), tags=tags, at=redirect.span)
            return
        append = ">>" in redirect.op
        tags_: tuple[str, ...] = ("append",) if append else ("overwrite",)
        if not append and (self.emptied or carried.text in ("", "\n")):
            tags_ = ("overwrite", "empties")
        if carried.taint & SECRET:
            tags_ = (*tags_, "secret")
        if redirect.fd and redirect.fd not in ("1", "2"):
            self.state.variables[f"&{redirect.fd.strip('{}')}"] = word
        target, marks = call.written_target(word)
        if target.place is Place.NOWHERE:
            return
        call.fact(Effect.WRITES, target, tags=(*tags_, *marks), at=redirect.span)
        self.walker.files.put(path, carried, append=append)
