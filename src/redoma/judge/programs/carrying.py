"""The clipboard, mail and file drops: what is put there is read or sent from there later."""

from __future__ import annotations

from redoma.judge.interpret.arg import NOTHING, SECRET, UNKNOWN, Stream
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_CLIPBOARD = "clipboard:"
_PASTERS = frozenset(("pbpaste", "wl-paste", "termux-clipboard-get", "getclip"))


def clipboard(call: Call) -> Stream:
    """What was copied comes out again with all that it carries."""
    files = call.walker.files
    options = split(
        call.args,
        frozenset(
            "-selection -sel -loops -display -l -t --type -p --primary -s --seat -target".split()
        ),
        long=call.name in ("xclip", "xsel"),
    )
    pastes = call.name in _PASTERS or options.has("-o", "-out", "--output", "-out-selection")
    if pastes:
        return files.get(_CLIPBOARD) or Stream(None, 0, "the clipboard")
    if call.name == "xsel" and options.has("-c", "--clear", "-d", "--delete", "-k", "--keep"):
        return NOTHING
    copied = call.stdin
    for word in options.operands:
        copied = call.reads(word) if call.name == "xclip" else Stream(str(word), word.taint)
    files.put(_CLIPBOARD, copied)
    call.fact(Effect.WRITES, tags=("cache",))
    return NOTHING


def mail(call: Call) -> Stream:
    """`mail`, `mutt`, `sendmail`, `swaks`: a body, attachments and an address."""
    options = options_of(call)
    taint = call.stdin.taint
    for name, value, word in options.order:
        if name in ("--exec", "-E") and value is not None:
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=word.span)
            call.run_shell(value.like(value.lstrip("!")))
        elif (
            name in ("-C", "-X", "-F")
            and value is not None
            and call.name in ("sendmail", "mutt", "exim", "exim4")
        ):
            # Attack: a configuration of one's own names programs that deliver the mail.
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=word.span)
        elif value is not None:
            taint |= value.taint
            attached = name in ("-a", "-A", "--attach", "-q", "-i") and ":" not in value
            body = name in ("--body", "--data", "-H") and call.name in ("swaks", "mutt")
            if attached or body:
                taint |= call.reads(value.like(value.removeprefix("@"))).taint
    to = [*options.operands, *options.values("--to", "-t")]
    addressed = [w for w in to if "@" in w or UNKNOWN in w]
    if not addressed and not to and not options.has("-t", "-bs"):
        call.fact(Effect.EXECUTES, tags=("interactive",))
        return Stream(None)
    for word in addressed or [call.word.like(UNKNOWN)]:
        call.sends(taint, word)
    return NOTHING


def drop(call: Call) -> Stream:
    """`croc`, `wormhole`, `ffsend`: hand a file to whoever knows the word for it."""
    words = [w for w in call.args if not w.startswith("-")]
    verb = str(words[0]) if words else ""
    if verb in ("send", "upload", "up", "u", "tx"):
        taint = call.stdin.taint
        for word in words[1:]:
            taint |= call.reads(word).taint | (word.taint & SECRET)
        call.sends(taint, call.word.like(UNKNOWN))
        return NOTHING
    if verb in ("receive", "recv", "rx", "download", "get") or (call.name == "croc" and words):
        call.fact(Effect.NETWORK, tags=("download",))
        call.fact(Effect.WRITES, tags=("project",))
        return NOTHING
    call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=call.name)
    return Stream(None)
