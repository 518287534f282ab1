"""Other agents and editors: started without their guard, or given code that nobody reviewed."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, UNKNOWN, Stream
from redoma.judge.programs.cards import follow
from redoma.judge.programs.package_sources import is_address
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_UNGUARDED = frozenset(
    "--dangerously-skip-permissions --dangerously-bypass-approvals-and-sandbox --yolo --yes-always "
    "--allow-dangerously-skip-permissions --allow-all-tools --trust-all-tools --allow-all-paths "
    "--dangerously-allow-all --no-sandbox --disable-sandbox --skip-permissions "
    "--dangerously-bypass-hook-trust --skip-permissions-unsafe --allow-all".split()
)
_LOOSE_VALUES = frozenset(
    "bypasspermissions danger-full-access never yolo dontask full-access".split()
)


def agent(call: Call) -> Stream:
    """An agent started without its guard may do anything; with it, it is a program like others."""
    words = call.args
    for index, word in enumerate(words):
        name, _, value = word.partition("=")
        following = words[index + 1] if index + 1 < len(words) else None
        given = value or (str(following) if following is not None else "")
        loose = given.strip("\"'").rpartition("=")[2].strip("\"'").lower() in _LOOSE_VALUES
        if name in _UNGUARDED or (name == "-y" and call.name in ("gemini", "qwen")):
            call.fact(Effect.TAMPERS, at=word.span, detail=name)
        elif name in _GUARD_OPTIONS and loose:
            call.fact(Effect.TAMPERS, at=word.span, detail=f"{name} {given}")
        elif word == "--":
            break
    if words[:1] == ["sandbox"] and len(words) > 2 and call.name == "codex":
        inner = [w for w in words[2:] if w not in ("--full-auto", "--")]
        return call.run_args(inner) if inner else ANYTHING
    if words[:2] == ["mcp", "add"]:
        call.fact(Effect.EXECUTES, tags=("hooked",), detail="mcp add")
    return follow(call)


_GUARD_OPTIONS = frozenset(
    "--permission-mode --sandbox -s --ask-for-approval -a --approval-mode -c --config "
    "--approval-policy".split()
)


_RUNNING = ("run", "preview", "plan", "shell")


def guard(call: Call) -> Stream:
    """The guard itself: asking it is harmless, taking it away or changing it is not."""
    words = _own_words(call)
    if words[:1] in (["check"], ["doctor"], ["pending"], ["version"], ["help"]) or not words:
        call.fact(Effect.READS, tags=("about",))
    elif words[:1] == ["answer"]:
        # Attack: whoever asked for a command answers the question about it, in place of a person.
        call.fact(Effect.TAMPERS, detail="redoma answer")
    elif words[:1] == ["vault"] and words[1:2] not in ([], ["list"]):
        # Attack: a token of someone else's in the place of the user's, so that what the user's
        # next command sends goes to that other's account.
        vault = Target(text="the vault", place=Place.SECRET)
        call.fact(Effect.SECRETS, vault, tags=("outside",), detail=" ".join(words[:2]))
    elif words[:1] == ["vault"]:
        call.fact(Effect.READS, tags=("about",))
    elif _may_have_credential(call, words[0]):
        # Attack: whoever may not have a token has the gate use it for a command of their own.
        vault = Target(text="the vault", place=Place.SECRET)
        call.fact(Effect.SECRETS, vault, tags=("outside",), detail="--credential")
    elif words[:1] == ["hook"] and words[1:2] not in (["install"], ["status"]):
        call.fact(Effect.TAMPERS, detail=" ".join(words[:2]))
    else:
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"redoma {words[0]}")
    return Stream(None)


def _may_have_credential(call: Call, command: str) -> bool:
    """Whether an option of ours is that one, or what nobody knows may be."""
    for word in call.args:
        if word == "--":
            return False
        option = str(word).partition("=")[0]
        known = option.partition(UNKNOWN)[0]
        unknown = UNKNOWN in option and command in _RUNNING and "--credential".startswith(known)
        if option == "--credential" or unknown:
            return True
    return False


def _own_words(call: Call) -> list[str]:
    """The words of a command line of ours, the first of which is its command."""
    words: list[str] = []
    # Attack: the value of an option that stands before the command is taken for the command; or
    # what nobody knows is taken for that value, and is several words.
    for before, word in zip(("", *call.args), call.args, strict=False):
        value = before == "--language" and UNKNOWN not in word
        if not value and word[:1] != "-":
            words.append(str(word))
    return words


def extension(call: Call) -> Stream:
    """Editors: an extension from a file or another's address is code that nobody reviewed."""
    for index, word in enumerate(call.args):
        if word.startswith("--install-extension"):
            value = word.partition("=")[2] or (
                call.args[index + 1] if index + 1 < len(call.args) else ""
            )
            if str(value).endswith(".vsix") or is_address(str(value)):
                call.fact(Effect.INSTALLS, tags=("url",), at=word.span, detail=str(value))
    return follow(call)
