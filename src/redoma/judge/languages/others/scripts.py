"""Reads code by its tokens: what well-known calls would run, delete, write, read and send."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.languages.others.expressions import (
    COMMAND,
    LONGEST_ARGUMENTS,
    MOST,
    NAME,
    STRING,
    Expressions,
    Token,
    tokens,
)
from redoma.judge.languages.others.known_calls import ACTIONS, DECODERS
from redoma.judge.languages.others.made_names import MadeNames
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_FORKS = frozenset("fork pcntl_fork Process.fork POSIX::fork child_process.fork".split())
_LOOPS = re.compile(r"\b(?:while|until|loop|forever)\b|\bfor\s*\(\s*;\s*;")
_COMPUTED = re.compile(r"\]\s*\(")
_SPAWNING = ("child_process", "Process", "Runtime", "subprocess", "node:child")
_CALLERS = frozenset(
    "array_map array_walk array_filter call_user_func call_user_func_array usort "
    "register_shutdown_function send public_send __send__ method".split()
)
_TAKE_WORDS = frozenset("perl ruby haskell groovy elixir r".split())
_INCLUDES = frozenset(
    "include include_once require require_once load dofile loadfile source".split()
)
_WALKS = frozenset(
    "glob children entries each_child readdirSync readdir find opendir scandir iterdir".split()
)

_tables: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {}


def read_foreign(call: Invocation, language: str, text: Arg) -> Stream:
    """Notes what the code does as far as its calls tell; the rest is 'runs code'."""
    call.begins_code(language, text)
    if not text.strip(UNKNOWN + " "):
        call.unknown_code(text.span)
        return Stream(None, text.taint)
    reader = _TokenReader(call, language, text)
    reader.read()
    taint = reader.taint | text.taint | call.stdin.taint | (NETWORK if reader.hosts else 0)
    return Stream(reader.printed, taint, language)


def _table(language: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    if language not in _tables:
        made: dict[str, tuple[str, tuple[str, ...]]] = {}
        for action, names in ACTIONS.get(language, ACTIONS["javascript"]).items():
            for each in names.split():
                name, _, needs = each.partition("|")
                made[name] = (action, (*made.get(name, ("", ()))[1], needs))
        _tables[language] = made
    return _tables[language]


class _TokenReader(Expressions):
    def __init__(self, call: Invocation, language: str, text: Arg) -> None:
        super().__init__()
        self.call = call
        self.language = language
        self.text = text
        self.table = _table(language)
        self.taint = 0
        self.hosts: list[Arg] = []
        self.connects = self.sends = self.spawns = self.evaluates = False
        self.printed: str | None = None
        self.walked: list[str] = []
        """Directories and patterns whose names the code goes through."""

    def word(self, text: str) -> Arg:
        if text == "~" or text.startswith("~/"):
            home = self.call.state.variables.get("HOME")
            text = f"{home if home is not None else UNKNOWN}{text[1:]}"
        return self.text.like(text)

    def read(self) -> None:
        found = tokens(str(self.text), self.language)
        if len(found) >= MOST:
            self.call.unknown_code(self.text.span)
        self._assignments(found)
        if self.held:
            found = tokens(str(self.text), self.language, self.held)
        self.names = MadeNames(self, found, str(self.text), self.table, self.language)
        for index, token in enumerate(found):
            if token.kind == COMMAND:
                self._command(token.text)
            elif token.kind == NAME:
                self._name(found, index)
        self._printed(found)
        self._dynamic(found)
        self._conclude()

    def _assignments(self, found: list[Token]) -> None:
        """`x = "…"`: names that hold a known text."""
        for index in range(len(found) - 2):
            if (
                found[index].kind == NAME
                and found[index + 1].text == "="
                and found[index + 2].text != "="
            ):
                end = index + 2
                furthest = min(len(found), end + LONGEST_ARGUMENTS)
                while end < furthest and found[end].text not in (";", "\n", ","):
                    end += 1
                value = self.folded(found[index + 2 : end])
                if value is not None:
                    self.held[found[index].text] = value
                    self.held[found[index].text.lstrip("$@%")] = value

    def _name(self, found: list[Token], index: int) -> None:
        name = found[index].text
        before = found[index - 1].text if index else ""
        entry = self._entry(name, dotted=before == ".")
        if name in ("process.env", "ENV", "%ENV", "$_ENV", "Deno.env.toObject", "os.environ"):
            self._environment(found, index, name)
        if name in _FORKS and _LOOPS.search(self.text):
            self.call.fact(Effect.SYSTEM, tags=("fork-bomb",), at=self.text.span)
        if name.rpartition(".")[2] in _WALKS:
            given = self.arguments(found, index + 1)
            root = self.folded(given[0]) if given else None
            if root is not None:
                self.walked.append(root)
        if entry is None:
            return
        self.call.walker.step()
        action, needs = entry
        if not any(need in self.names.mentions for need in needs):
            return
        if before in ("function", "def", "sub", "fn", "class", "->") or (
            before and before in "$@%"
        ):
            return
        self._act(action, name, self.arguments(found, index + 1), found, index)

    def _entry(self, name: str, *, dotted: bool) -> tuple[str, tuple[str, ...]] | None:
        name = name.removeprefix("CORE::")
        if not dotted and name in self.table:
            return self.table[name]
        last = name.replace("->", ".").replace("::", ".").replace(":", ".").rpartition(".")[2]
        if dotted or last != name:
            return self.table.get(f".{last}")
        return None

    def _environment(self, found: list[Token], index: int, name: str) -> None:
        following = found[index + 1].text if index + 1 < len(found) else ""
        if following in (".", "[", "{", ".fetch") or (
            name in ("process.env", "ENV") and following == "["
        ):
            return
        target = Target(text="environment", place=Place.SECRET)
        self.call.fact(Effect.SECRETS, target, tags=("environment",), at=self.text.span)
        self.taint |= SECRET

    # Doing -------------------------------------------------------------------------------------

    def _act(
        self, action: str, name: str, args: list[list[Token]], found: list[Token], index: int
    ) -> None:
        call = self.call
        first = self.folded(args[0]) if args else None
        known = UNKNOWN if first is None else first
        if first is None and args:
            # `"https://host/?" . something()`: the host is known, the rest is not.
            addresses = [t.text for t in args[0] if t.kind == STRING and "://" in t.text]
            known = f"{addresses[0]}{UNKNOWN}" if addresses else known
        if action == "run":
            self._run(name, args, first, found, index)
        elif action in ("delete", "delete-tree"):
            self._delete(args, first, tree=action == "delete-tree")
        elif action == "write":
            if first is not None:
                call.writes(self.word(first))
        elif action == "move":
            self._move(args, known)
        elif action == "read":
            if first is not None:
                self.taint |= call.reads(self.word(first)).taint & SECRET
        elif action == "open":
            self._open(args)
        elif action in ("ask", "send"):
            self._ask(action, args, known)
        elif action == "socket":
            self.connects = True
            self.hosts.append(self.word(known))
            call.host(self.word(known), "raw")
        elif action == "listen":
            self.connects = True
            call.fact(Effect.NETWORK, tags=("listen",), at=self.text.span)
        elif action == "eval":
            self._eval(name, args, first)
        elif action == "kill":
            call.fact(Effect.KILLS, at=self.text.span)
        elif action == "rights":
            call.fact(Effect.PRIVILEGE, at=self.text.span)
        elif action == "library":
            call.fact(Effect.EXECUTES, tags=("library",), at=self.text.span)

    def _run(
        self, name: str, args: list[list[Token]], first: str | None, found: list[Token], index: int
    ) -> None:
        self.spawns = True
        self._obscured(args)
        if (
            not args
            and index
            and found[index - 1].text == "."
            and index > 1
            and found[index - 2].kind == STRING
        ):
            # In Groovy a text runs itself.
            self._command(found[index - 2].text)
            return
        if args and any(token.kind == COMMAND for token in args[0]):
            return
        words = self.list(args[0]) if args else None
        rest = self.list(args[1]) if len(args) > 1 else None
        if words:
            self._program(words)
        elif first is None:
            if args:
                self.evaluates = True
                self.call.unknown_code(self.text.span)
        elif rest is not None and not first.strip().count(" "):
            self._program([first, *rest])
        elif len(args) > 1 and self.language in _TAKE_WORDS:
            folded = [self.folded(each) for each in args]
            self._program([UNKNOWN if each is None else each for each in folded])
        else:
            self._command(first)

    def _delete(self, args: list[list[Token]], first: str | None, *, tree: bool) -> None:
        tree = tree or "recursive" in str(self.text)
        several = self.language in ("perl", "ruby")
        for each in ([self.folded(part) for part in args] if several else [first]) or [None]:
            for path in [each] if each is not None else [UNKNOWN, *self.walked[:4]]:
                # What is not known may be what the code has found where it looked.
                whole = tree or path in self.walked
                self.call.deletes(self.word(path), *(("recursive",) if whole else ()))

    def _program(self, words: list[str]) -> None:
        if not words or not words[0].strip(UNKNOWN):
            self.call.unknown_code(self.text.span)
            return
        self.taint |= self.call.run_args([self.word(each) for each in words]).taint

    def _command(self, text: str) -> None:
        self.spawns = True
        self.taint |= self.call.run_shell(self.word(text)).taint

    def _move(self, args: list[list[Token]], source: str) -> None:
        word = self.word(source)
        target, marks = self.call.written_target(word)
        if target.place not in (Place.WORKSPACE, Place.TEMP, Place.NOWHERE) or "whole" in marks:
            self.call.fact(
                Effect.DELETES, target, tags=("moved", "recursive", *marks), at=self.text.span
            )
        self.taint |= self.call.reads(word).taint & SECRET
        second = self.folded(args[1]) if len(args) > 1 else None
        self.call.writes(self.word(UNKNOWN if second is None else second))

    def _open(self, args: list[list[Token]]) -> None:
        """Opening a file to read or write; in Perl and Ruby `|` makes it a program."""
        texts = [self.folded(each) for each in args]
        known = [each for each in texts if each is not None]
        if not known:
            return
        if any(each.strip() in ("-|", "|-") for each in known):
            commands = [each for each in known if each.strip() not in ("-|", "|-")]
            if commands:
                self._command(" ".join(commands))
            else:
                self.call.unknown_code(self.text.span)
            return
        path = known[0] if self.language != "perl" else known[-1]
        mode = known[1] if len(known) > 1 and self.language != "perl" else known[0]
        if path.startswith("|") or path.endswith("|"):
            self._command(path.strip("|"))
        elif path.startswith(("http://", "https://", "ftp://")):
            self._ask("ask", args, path)
        elif mode.startswith((">", "+>")) or (
            self.language != "perl" and mode[:1] in ("w", "a") and len(known) > 1
        ):
            self.call.writes(self.word(path.lstrip("+> ")))
        elif not path.startswith((">&", "<&")):
            self.taint |= self.call.reads(self.word(path.lstrip("< "))).taint & SECRET

    def _ask(self, action: str, args: list[list[Token]], url: str) -> None:
        word = self.word(url)
        if self.language == "php" and "://" not in url:
            self.taint |= self.call.reads(word).taint & SECRET
            return
        self.hosts.append(word)
        text = str(self.text)
        sends = action == "send" or any(
            f"{mark}" in text
            for mark in ("POST", "PUT", "PATCH", "method:", "CURLOPT_POST", "DELETE")
        )
        if sends:
            self.sends = True
            destroys = "DELETE" in text or ".delete" in text
            if destroys:
                self.call.fact(Effect.REMOTE, tags=("destroy",), at=self.text.span, detail="DELETE")
            self.call.sends(0, word)
        else:
            self.sends = self.sends or UNKNOWN in url
            self.call.host(word, "download")
        if len(args) > 1 and self.language in ("r", "julia", "perl"):
            target = self.folded(args[1])
            if target is not None:
                self.call.writes(self.word(target), content=Stream(None, NETWORK, url))

    def _obscured(self, args: list[list[Token]]) -> None:
        if any(token.text in DECODERS for each in args for token in each):
            self.call.fact(Effect.EXECUTES, tags=("obscured",), at=self.text.span)

    def _eval(self, name: str, args: list[list[Token]], first: str | None) -> None:
        self.evaluates = True
        self._obscured(args)
        if name in _INCLUDES and (name, self.language) != ("load", "lua"):
            if first is not None and not first.startswith(
                ("http://", "https://", "php://", "data:")
            ):
                if self.language in ("lua", "r", "julia", "php", "ruby") and "/" in first:
                    self.call.executes_file(self.word(first), self.language)
                self.evaluates = False
                return
            if first is not None:
                self.call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=self.text.span)
                return
        if self.language in ("perl", "ruby") and args and args[0] and args[0][0].text == "{":
            self.evaluates = False
            return
        if first is None:
            if args or name != ".constructor":
                self.call.unknown_code(self.text.span)
        elif self.call.walker.depth < 20:
            self.call.walker.depth += 1
            try:
                read_foreign(self.call, self.language, self.word(first))
            finally:
                self.call.walker.depth -= 1

    def _dynamic(self, found: list[Token]) -> None:
        """Attack: `c["exec"+"Sync"](…)`, `array_map("unlink", …)`: a function by a made name.

        Then every text that is a command line may be the one that runs.
        """
        text = self.names.mentions
        for name, index in self.names.calls:
            self._act(self.table[name][0], name, self.arguments(found, index + 1), found, index)
        by_name = [t.text for t in found if t.kind == STRING and t.text in self.table]
        computed = _COMPUTED.search(text) and any(mark in text for mark in _SPAWNING)
        if self.names.escaped or "sys.process" in text or (computed and not self.names.calls):
            self.spawns = self.evaluates = True
            self.call.unknown_code(self.text.span)
            for line in self.names.command_lines():
                self.call.reads_perhaps(self.word(line))
        elif by_name and any(t.kind == NAME and t.text in _CALLERS for t in found):
            self.call.unknown_code(self.text.span)
            for path in self.walked[:4]:
                if self.table[by_name[0]][0].startswith("delete"):
                    self.call.deletes(self.word(path))

    def _printed(self, found: list[Token]) -> None:
        """`print "text"` and nothing else: what flows out is known."""
        signs = [t for t in found if t.text not in ("\n", ";", "(", ")")]
        if (
            len(signs) == 2
            and signs[0].text in ("print", "puts", "say", "echo", "console.log", "println", "cat")
            and signs[1].kind == STRING
        ):
            newline = "" if signs[0].text in ("print", "echo", "cat") else "\n"
            if UNKNOWN not in signs[1].text:
                self.printed = signs[1].text + newline

    def _conclude(self) -> None:
        if self.connects and self.spawns:
            self.call.fact(Effect.NETWORK, tags=("reverse-shell",), at=self.text.span)
        carried = self.taint | self.call.stdin.taint
        if (self.sends or self.connects) and carried & SECRET:
            self.call.sends(SECRET, self.hosts[-1] if self.hosts else self.word(UNKNOWN))
        if self.hosts and self.evaluates and not self.connects:
            self.call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=self.text.span)
