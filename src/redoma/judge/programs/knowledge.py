"""Finds what is known about a program: its card, the handler that refines it, or nothing."""

from __future__ import annotations

import marshal
import re

from redoma.judge.interpret.arg import ANYTHING, PLAIN, SECRET, UNKNOWN, Stream
from redoma.judge.programs.card_actions import is_named_so, says_it_destroys
from redoma.judge.programs.cards import follow, function_named
from redoma.judge.programs.carried import judge_carried, judge_hooks, judge_telling
from redoma.judge.text.glob import glob, has_glob
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation
    from redoma.model.decision import Fact

_MOST_MET = 4096  # names are the caller's to choose
VARIABLE = "$"
"""What the names of variables begin with, among the cards."""
PATTERNS = "$*"
_BINARIES = (
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/sbin/",
    "/opt/homebrew/bin/",
    "/snap/bin/",
    "/system/bin/",
    "/usr/libexec/",
    "/usr/lib/git-core/",
)
_WINDOWS = re.compile(r"\.(?:exe|cmd|bat|com)$")
_NAMING_SCRIPTS = frozenset(
    "npm pnpm yarn bun make gmake pdm poe task hatch composer deno just tox nox pytest".split()
)
"""Programs that run what a project's files give a name to; `named_scripts` reads those."""
_TELLING = frozenset("--version --help -V -help -version version help -h -v".split())
_SURELY_TELLING = frozenset(("--version", "--help"))
_NOT_TELLING = frozenset("shutdown halt poweroff reboot env sh bash xargs cat eval".split())
_NOT_SHOWN = frozenset(("names", "search", "literal", "credentials"))


def _showed(facts: list[Fact]) -> bool:
    """Whether what a program printed holds a secret that it was asked for."""
    return any(f.effect is Effect.SECRETS and f.tags.isdisjoint(_NOT_SHOWN) for f in facts)


class Cards:
    """Cards by program, each packed until it is asked for: a call needs one of a thousand."""

    def __init__(self, packed: Callable[[str], bytes | None]) -> None:
        self._packed = packed
        self._met: dict[str, Any] = {}  # None for what has no card

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def __getitem__(self, name: str) -> Any:
        card = self._find(name)
        if card is None:
            raise KeyError(name)
        if type(card) is bytes:
            card = self._met[name] = marshal.loads(card)  # noqa: S302
        return card

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401

    def _find(self, name: str) -> Any:
        if name not in self._met:
            if len(self._met) >= _MOST_MET:
                self._met.clear()
            self._met[name] = self._packed(name)
        return self._met[name]


class Knowledge:
    """All cards and handlers; `run` says what one call does."""

    def __init__(self, packed: Callable[[str], bytes | None]) -> None:
        self.cards = Cards(packed)
        self._variables: dict[str, Any] = {}

    def __contains__(self, name: object) -> bool:
        # Attack: a file called "docker run" is no program that the card of a subcommand describes.
        # One called "$HOME" is none that the entry of a variable describes either.
        named = isinstance(name, str) and " " not in name and name[:1] != VARIABLE
        return named and name in self.cards

    def variable(self, name: str) -> Any:
        """What setting a variable means to programs; None for one that means nothing."""
        if name in self._variables:
            return self._variables[name]
        # Attack: `select *` names a variable as the table of patterns is named.
        entry = self.cards.get(VARIABLE + name) if VARIABLE + name != PATTERNS else None
        for start, end, patterned in () if entry is not None else self.cards.get(PATTERNS, ()):
            if name.startswith(start) and name.endswith(end) and len(name) >= len(start + end):
                entry = patterned
                break
        if len(self._variables) >= _MOST_MET:
            self._variables.clear()
        self._variables[name] = entry
        return entry

    def run(self, call: Invocation) -> Stream:
        """Notes the facts of a call and gives what is known of its output."""
        if UNKNOWN in call.word or has_glob(call.word):
            return self._doubtful_word(call)
        word = call.word
        if self._named_otherwise(call):
            return call.run_args([word.like("git"), word.like(call.name[4:]), *call.args])
        if "/" in word and not call.path(word).startswith(_BINARIES):
            self._disguised(call)
            call.executes_file(word, "")
            if call.name not in self:
                judge_carried(call, call.args)
                judge_telling(call, call.args)
                return call.passes_on(call.stdin)
        name = call.name
        if name not in self:
            return self._stranger(call)
        args = call.args
        if args and len(args) <= 2 and args[-1] in _TELLING and name not in _NOT_TELLING:
            described = "alone" not in self.cards[name]
            asks = args[0] in _SURELY_TELLING or described
            if len(args) == 2:
                asks = args[1] == "--help" and args[0][:1] != "-" and described
            if asks:
                call.fact(Effect.READS, tags=("about",))
                return Stream(None)
        noted = len(call.walker.facts)
        out = self._known(call, name)
        if not out.taint & SECRET and _showed(call.walker.facts[noted:]):
            out = Stream(out.text, out.taint | SECRET, out.source)
        if out.text is None and "prints" in self.cards[name]:
            made = function_named(self.cards[name]["prints"])(call)
            text = made if made is not None and UNKNOWN not in made else None
            return Stream(text, out.taint, out.source)
        return out

    def _named_otherwise(self, call: Invocation) -> bool:
        """Finds a program by another of its names; says whether it is a part of git by its own.

        `C:\\Git\\git.exe` and `GIT.EXE` are git, `git-push` and `/usr/lib/git-core/git-push` its
        subcommand.
        """
        name = call.name
        if name not in self:
            plain = _WINDOWS.sub("", name.rpartition("\\")[2].lower())
            if plain in self or plain.startswith("git-"):
                call.name = name = plain
        return name.startswith("git-") and name not in self and f"git {name[4:]}" in self.cards

    def read_code(self, call: Invocation, language: str, text: Arg) -> Stream:
        """Notes what code in another language would do; gives what it prints, if that is known."""

        return read_code(call, language, text)

    def _known(self, call: Invocation, name: str) -> Stream:
        card = self.cards[name]
        if "hooks" in card:
            judge_hooks(call, card)
        if name in _NAMING_SCRIPTS and call.walker.ground.reader is not None:
            from redoma.judge.programs.named_scripts import read_named

            read_named(call)
        if "handler" not in card:
            return follow(call, card)
        handled = function_named(card["handler"])(call)
        return handled if handled is not None else call.passes_on(call.stdin)

    def _disguised(self, call: Invocation) -> None:
        """Attack: `cp /bin/rm x; ./x`: a copy or link does what the program does."""
        held = call.walker.files.get(call.path(call.word))
        if held is not None and held.source.startswith(_BINARIES):
            call.run_args([call.word.like(held.source), *call.args])

    def _stranger(self, call: Invocation) -> Stream:
        args = call.args
        if len(args) == 1 and args[0] in _SURELY_TELLING and "/" not in call.word:
            call.fact(Effect.READS, tags=("about",))
        else:
            operands = [word for word in args if word[:1] != "-"]
            destroys = says_it_destroys(operands) or is_named_so(call.name)
            tags = ("program", "destroys") if destroys else ("program",)
            call.fact(Effect.UNKNOWN, tags=tags, at=call.word.span, detail=call.name)
        if "=" in call.word and args:
            # Meant as an assignment, though bash takes `1A=2` for a program: judge what follows.
            return call.run_args(args)
        if args:
            judge_carried(call, args)
            judge_telling(call, args)
        return call.passes_on(call.stdin)

    def _doubtful_word(self, call: Invocation) -> Stream:
        """The program's name is not fully known: what it could be is tried as well."""
        word = call.word
        if not has_glob(word) or UNKNOWN in word:
            call.fact(Effect.UNKNOWN, tags=("command",), at=word.span)
        if word.taint & 2:
            call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=word.span)
        bare = word.replace(UNKNOWN, "")
        candidates: list[str] = []
        if bare and not has_glob(bare):
            candidates = [bare.rpartition("/")[2]]
        elif bare:
            pattern = glob(bare.rpartition("/")[2])
            call.fact(Effect.UNKNOWN, tags=("command",), at=word.span)
            if pattern is not None:
                candidates = [n for n in _LIKELY if pattern.fits(n)]
        for candidate in candidates[:3]:
            if candidate in self:
                call.run_args([word.like(candidate), *call.args])
        return ANYTHING if not word.taint else Stream(None, word.taint or PLAIN)


_LIKELY = (
    "rm dd bash sh curl wget chmod chown mkfs shred find nc python3 cat mv cp sudo kill".split()
)

LANGUAGES = frozenset(
    "javascript typescript node perl ruby php lua r julia elixir erlang groovy java "
    "scala kotlin haskell".split()
)

READ_BY_TEXTS = frozenset("gnuplot octave lisp scheme prolog ocaml clojure raku".split())
"""Languages of which only the texts, and the names before them, are read."""


def read_code(call: Invocation, language: str, text: Arg) -> Stream:
    """Notes what a piece of code in `language` would do; gives what it prints, if that is known."""
    if language == "shell":
        return call.run_shell(text)
    if language == "python":
        from redoma.judge.languages.python.source import read_python

        return read_python(call, text)
    if language == "sql":
        from redoma.judge.programs.database import read_sql

        read_sql(call, text)
        return Stream(None, text.taint)
    if language in LANGUAGES:
        from redoma.judge.languages.others.scripts import read_foreign

        return read_foreign(call, language, text)
    if language in ("tcl", "expect"):
        from redoma.judge.languages.others.lines import read_tcl

        return read_tcl(call, text)
    if language == "applescript":
        from redoma.judge.languages.others.lines import read_applescript

        return read_applescript(call, text)
    if language == "powershell":
        from redoma.judge.languages.others.lines import read_powershell

        return read_powershell(call, text)
    call.begins_code(language, text)
    if language not in READ_BY_TEXTS or not text.strip(UNKNOWN + " "):
        call.unknown_code(text.span)
        return Stream(None, text.taint)
    from redoma.judge.languages.others.literals import read_literals

    return read_literals(call, text, language)
