"""`fzf` and its like: previews and key bindings carry commands of their own."""

from __future__ import annotations

from redoma.judge.interpret.arg import Arg, Stream
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.files import makes
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_RUNS = ("execute", "execute-silent", "execute-multi", "become")
_ASKS = ("reload", "reload-sync", "preview", "change-preview", "transform", "bg-transform")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def fzf(call: Call) -> Stream:
    """`fzf`: a list to choose from; what previews and keys run is judged by itself."""
    options = options_of(call, [*_from_variables(call), *call.args])
    for text in options.values("--preview", "--info-command"):
        call.run_shell(_filled(text))
    for text in options.values("--bind"):
        for name, command in bound(text):
            if name.startswith(_RUNS):
                call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
            call.run_shell(_filled(text.like(command)))
    for text in options.values("--with-shell"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=text.span)
        call.run_shell(text)
    if options.has("--listen-unsafe"):
        call.fact(Effect.NETWORK, tags=("listen", "unsafe"))
    elif options.has("--listen") and not _only_here(options.value("--listen")):
        call.fact(Effect.NETWORK, tags=("listen",))
    for name in options.values("--history"):
        makes(call, name)
    for name in options.values(
        "--profile-cpu", "--profile-mem", "--profile-block", "--profile-mutex"
    ):
        call.writes(name)
    return call.stdin.passed_through()


def _from_variables(call: Call) -> list[Arg]:
    """Attack: FZF_DEFAULT_OPTS carries previews and keys that the command line does not show."""
    out: list[Arg] = []
    for name in ("FZF_DEFAULT_OPTS", "FZF_DEFAULT_OPTS_FILE"):
        value = call.environment.get(name)
        if value is None and name in call.state.exported:
            value = call.state.variables.get(name)
        if not value:
            continue
        if name.endswith("FILE"):
            call.reads(value)
            call.fact(Effect.UNKNOWN, tags=("subcommand",), at=value.span, detail=name)
            continue
        import shlex

        try:
            pieces = shlex.split(value)
        except ValueError:
            pieces = value.split()
        out.extend(value.like(piece) for piece in pieces)
    return out


def _only_here(address: Arg | None) -> bool:
    """Without a host `fzf` listens on this machine only, and runs no programs for others."""
    if address is None or ":" not in address:
        return True
    return address.partition(":")[0] in ("localhost", "127.0.0.1", "")


def bound(text: str) -> list[tuple[str, str]]:
    """The actions of a `--bind` value that carry a command: (action, command)."""
    out: list[tuple[str, str]] = []
    index = 0
    for action in sorted((*_RUNS, *_ASKS), key=len, reverse=True):
        index = text.find(action)
        while index != -1:
            end = index + len(action)
            while end < len(text) and (text[end].isalpha() or text[end] == "-"):
                end += 1
            if end < len(text) and (index == 0 or text[index - 1] in ":+,- "):
                command = _command(text, end)
                if command and not any(command == known for _, known in out):
                    out.append((text[index:end], command))
            index = text.find(action, end)
    return out


def _command(text: str, at: int) -> str:
    opening = text[at]
    if opening == ":":
        return text[at + 1 :].replace("\\ ", " ")
    if opening in "+,":
        return ""
    closing = _CLOSING.get(opening, opening)
    end = text.rfind(closing + "+", at + 1)
    for stop in (text.find(closing + "+", at + 1), text.find(closing + ",", at + 1), end):
        if stop != -1:
            return text[at + 1 : stop]
    stop = text.rfind(closing)
    return text[at + 1 : stop] if stop > at else text[at + 1 :]


def _filled(text: Arg) -> Arg:
    """Placeholders stand for what will be chosen, which nobody knows yet."""
    import re

    return text.like(
        re.sub(r"\{[+*sfrn]*(?:q|n|\d*(?:\.\.\d*)?(?:,\d+)*)(?::\d)?\}", "$__chosen", text)
    )
