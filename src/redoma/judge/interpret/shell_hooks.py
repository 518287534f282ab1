"""Builtins that run what they are given, now or later: completions, keys, jobs, history, hashes."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, NOTHING, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.interpret.assignments import names
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_COMPLETION_VALUES = "oAGWFCXPS"
_MACRO_ENDS = ("\\n", "\\r", "\\C-m", "\\C-j", "\\x0a", "\\015", "\\012")


def options(call: Invocation, takes: str) -> tuple[dict[str, list[Arg]], list[Arg]]:
    """The option letters with their values, and the words after them, as bash's `getopt` reads."""
    found: dict[str, list[Arg]] = {}
    words = list(call.args)
    while words and words[0][:1] == "-" and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        for at, letter in enumerate(word[1:], 2):
            values = found.setdefault(letter, [])
            if letter not in takes:
                continue
            if word[at:]:
                values.append(word.like(word[at:]))
            elif words:
                values.append(words.pop(0))
            break
    return found, words


def quiet(call: Invocation) -> Stream:
    """Does nothing to files; a subscript among its words is expanded all the same."""
    for word in call.args:
        names(call, word)
    return NOTHING


def jobs(call: Invocation) -> Stream:
    """`jobs -x COMMAND …` runs the command."""
    given, words = options(call, "")
    return call.run_args(words) if "x" in given and words else quiet(call)


def completion(call: Invocation) -> Stream:
    """`compgen`, `complete`: commands, functions, and word lists that the shell expands."""
    given, _ = options(call, _COMPLETION_VALUES)
    for command in given.get("C", ()):
        call.run_shell(command)
    for words in given.get("W", ()):
        call.walker.hidden_text(words, call.state)
    for function in given.get("F", ()):
        if function in call.state.functions:
            call.run_args([function])
    return Stream(None, call.taint()) if call.name == "compgen" else NOTHING


def bind(call: Invocation) -> Stream:
    """`bind`: keys that run a command or type one; a file of such keys."""
    call.fact(Effect.WRITES, tags=("shell-options",))
    given, words = options(call, "fqumrx")
    for file in given.get("f", ()):
        call.executes_file(file, "readline")
    for key in given.get("x", ()):
        call.run_shell(key.like(_bound(key)))
    for key in words:
        typed = _bound(key)
        if typed.endswith(_MACRO_ENDS):
            call.run_shell(key.like(typed.rpartition("\\")[0]))
    return NOTHING


def _bound(key: Arg) -> str:
    """What stands behind the colon of `"\\C-a": …`, out of its quotes."""
    behind = (key.partition('":')[2] or key.partition(":")[2]).strip()
    return behind[1:-1] if len(behind) > 1 and behind[0] == behind[-1] in "\"'" else behind


def hash_(call: Invocation) -> Stream:
    """`hash -p FILE NAME` makes a name another program; `hash -t NAME` prints where one lies."""
    given, words = options(call, "p")
    for file in given.get("p", ()):
        for name in words:
            call.state.hashed[str(name)] = file
            call.fact(Effect.WRITES, tags=("shadows",), at=name.span, detail=str(name))
    if "t" in given:
        lie = [call.state.hashed.get(str(name), name.like(f"/usr/bin/{name}")) for name in words]
        return Stream("".join(f"{file}\n" for file in lie), call.taint())
    return NOTHING


def fc(call: Invocation) -> Stream:
    """`fc`: runs something from the history again, or opens it in an editor first."""
    given, words = options(call, "e")
    if "--help" in call.args:
        return NOTHING
    if "l" in given:
        return Stream(None, SECRET, "history")
    call.fact(Effect.UNKNOWN, tags=("history",))
    for editor in given.get("e", ()):
        if editor != "-":
            call.run_shell(editor)
    for text in call.state.history:
        again = str(text)
        for word in words:
            old, equals, new = word.partition("=")
            again = again.replace(old, new) if equals and old else again
        call.run_shell(text.like(again))
    return ANYTHING


def history(call: Invocation) -> Stream:
    """`history`: shows, adds to, or takes from what was typed."""
    given, words = options(call, "danrw")
    if "s" in given:
        if words:
            call.state.history.append(words[0].like(" ".join(words)))
        return NOTHING
    if "p" in given:
        known = all(UNKNOWN not in word for word in words)
        return Stream("".join(f"{word}\n" for word in words) if known else None, call.taint())
    if not given.keys().isdisjoint("cdwr"):
        call.fact(Effect.DELETES, Target(text="history", place=Place.SECRET), tags=("history",))
        return NOTHING
    return Stream(None, SECRET, "history")
