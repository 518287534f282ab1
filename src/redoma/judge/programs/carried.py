"""A command behind words that nobody knows: `some-wrapper --its-option 3 rm -rf /`."""

from __future__ import annotations

from redoma.judge.interpret.arg import Arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_SHELLS = frozenset("sh bash dash zsh ksh ash fish".split())
_ALWAYS = frozenset("shred wipefs blkdiscard".split())
_FARTHEST = 12
"""How many words in a carried command is looked for."""


def judge_carried(call: Call, words: list[Arg]) -> None:
    """Judges the first command among `words` that would do harm if something ran it.

    An unknown program may be a wrapper, and an unknown option of a wrapper may have taken the
    word that looks like its command. Only unmistakable command lines count: a subcommand that is
    merely called `rm` or a package called `bash` is none.
    """
    for index, word in enumerate(words[:_FARTHEST]):
        if _unmistakable(str(word).rpartition("/")[2], words[index + 1 :]):
            call.run_args(words[index:])
            return


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
    if name == "dd":
        return any(w.startswith("of=") for w in rest)
    if name == "find":
        return any(w in ("-delete", "-exec", "-execdir") for w in rest)
    if name in ("chmod", "chown"):
        return any(w == "-R" for w in rest)
    return name in _ALWAYS or name.startswith("mkfs")
