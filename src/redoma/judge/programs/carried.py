"""Command lines that the words of a program carry, where nothing says that it runs them.

An unknown program may be a wrapper, and an unknown option may name a command: `--exec 'make x'`,
`--pre-command=…`, `some-runner -- rm -rf x`. What reads as a command line is read as one; words
that only happen to be called like a program are not.
"""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Arg
from redoma.judge.text.glob import glob
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    Card = dict[str, Any]
    from redoma.judge.interpret.invocation import Invocation

_SHELLS = frozenset("sh bash dash zsh ksh ash fish cmd powershell pwsh".split())
_CODE = frozenset("python python3 perl ruby node php lua deno bun".split())
_ALWAYS = frozenset("shred wipefs blkdiscard sudo doas pkexec shutdown reboot poweroff".split())
_SENDING = ("-T", "--upload-file", "--data-binary", "-d", "-F", "--post-file")
_FARTHEST = 12
"""How many words in a carried command is looked for."""
_TELLING = frozenset(
    "exec execute cmd cmdline command commands eval run hook shell script program preexec postexec "
    "precmd prepare wrapper launcher callback trigger pager editor expr code rsh "
    "proxycommand".split()
)
_LETTERS = frozenset("-c -e -x -E -C -X".split())
_LONGEST_OPTION = 64
"""Options whose value is run, as programs nobody has heard of call them."""
_PROSE = frozenset(
    "-m --message --msg -b --body -t --title -d --description --notes --note --comment --text "
    "--reason --subject --summary --body-text --annotation --label".split()
)
"""Options whose value is written for people."""
_LINE = re.compile(r"\s\S|[;|&`<>]|\$\(")
"""What a text has that can be more than one name."""


def judge_carried(call: Invocation, words: list[Arg]) -> None:
    """Judges the first command among `words` that would do harm if something ran it.

    Only unmistakable command lines count: a subcommand that is merely called `rm` or a package
    called `bash` is none.
    """
    for index, word in enumerate(words[:_FARTHEST]):
        if (words[index - 1] if index and "=" not in word else word).partition("=")[0] in _PROSE:
            continue
        text = word.rpartition("=")[2] if word[:1] == "-" and "=" in word else word
        if " " in text:
            # `some-runner 'rm -rf /'`: a whole command line in one word.
            pieces = [word.like(each) for each in text.split()]
            if pieces and _unmistakable(_name(pieces[0]), pieces[1:]):
                call.run_shell(word.like(text))
                return
        if _unmistakable(_name(word), words[index + 1 :]):
            call.run_args(words[index:])
            return


def judge_code(call: Invocation, words: list[Arg]) -> None:
    """Reads operands of a program that runs code of its caller, in a language of its own."""
    from redoma.judge.languages.others.literals import read_literals

    for word in words[:_FARTHEST]:
        if " " in word or "(" in word:
            read_literals(call, word)


def judge_telling(call: Invocation, words: list[Arg], known: Container[str] = frozenset()) -> None:
    """Reads what an option is given that says by its name that it is run."""
    for index, word in enumerate(words):
        if word == "--":
            return
        name, equals, attached = word.partition("=")
        if name[:1] != "-" or name in known or not _tells(name):
            continue
        value = word.like(attached) if equals else words[index + 1] if words[index + 1 :] else None
        if value is None or value[:1] == "-" or not _LINE.search(value):
            continue
        call.reads_perhaps(value.like(value.lstrip(":! ")))
        if "(" in value:
            from redoma.judge.languages.others.literals import read_literals

            read_literals(call, value)


def judge_hooks(call: Invocation, card: Card) -> None:
    """Judges programs and libraries that options put in the place of a program's own.

    Attack: `rsync -e ./x`, `gcc -wrapper ./x`: a well-known program, and what runs is another.
    """
    from redoma.judge.programs.cards import options_of

    for name, value, _ in options_of(call, card=card).order:
        kind, _, detail = card["hooks"].get(name, "").partition(" ")
        if value is None or not kind:
            continue
        if kind == "library":
            call.fact(Effect.EXECUTES, tags=("library",), at=value.span, detail=name)
        elif kind == "hook":
            _hook(call, name, value.like(value.replace(detail, " ")) if detail else value)
        else:
            key, _, given = value.partition("=")
            named = (glob(each.lower()) for each in card["words"]["settings"])
            if any(each is not None and each.fits(key.lower()) for each in named):
                _hook(call, key, value.like(given))


def _hook(call: Invocation, option: str, value: Arg) -> None:
    first = value.partition(" ")[0].removeprefix("/usr").removeprefix("/bin/")
    tags = ("hooked",) if "/" in first or UNKNOWN in first else ("flag", "arbitrary")
    call.fact(Effect.EXECUTES, tags=tags, at=value.span, detail=option)
    call.run_shell(value)


def _tells(option: str) -> bool:
    """Whether an option says by its name, or by a part of it, that its value is run."""
    if option in _LETTERS:
        return True
    if len(option) > _LONGEST_OPTION:
        return False
    parts = option.lstrip("-").replace("_", "-").replace(".", "-").split("-")
    return not _TELLING.isdisjoint(parts)


def _name(word: Arg) -> str:
    return str(word).rpartition("/")[2].removesuffix(".exe")


def _unmistakable(name: str, rest: list[Arg]) -> bool:
    if not rest:
        return False
    if name == "rm":
        options = [w for w in rest if w[:1] == "-"]
        return len(rest) > len(options) and any(
            w == "--recursive" or (w[1:2] != "-" and ("r" in w or "R" in w)) for w in options
        )
    if name in _SHELLS:
        return any(w[:1] == "-" and w[1:2] != "-" and w.endswith("c") for w in rest[:3])
    if name in _CODE:
        return rest[0] in ("-c", "-e", "-r", "--eval") and len(rest) > 1
    if name in ("curl", "wget"):
        return any(w in ("|", "sh", "bash") or w.startswith(_SENDING) for w in rest)
    if name in ("nc", "ncat", "socat"):
        return any(w in ("-e", "-c", "--exec", "--sh-exec") or "exec:" in w.lower() for w in rest)
    if name == "dd":
        return any(w.startswith("of=") for w in rest)
    if name == "find":
        return any(w in ("-delete", "-exec", "-execdir") for w in rest)
    if name in ("chmod", "chown"):
        return any(w == "-R" for w in rest)
    if name == "git":
        return rest[0] in ("push", "reset", "clean") and len(rest) > 1 and UNKNOWN not in rest[0]
    return (name in _ALWAYS and rest[0][:1] in "-/") or name.startswith("mkfs.")
