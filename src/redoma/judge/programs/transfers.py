"""Copies to places elsewhere: stores, other machines, the clipboard, mail and file drops."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NETWORK, NOTHING, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.programs.archives import packed
from redoma.judge.programs.cards import action_of, card_of, follow, options_of
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def far(word: Arg) -> bool:
    """Whether a word names a place elsewhere: `s3://…`, `gs://…`, `remote:path`."""
    if _ADDRESS.match(word) and not word.startswith("file:"):
        return True
    name, colon, _ = word.partition(":")
    return bool(colon) and bool(name) and "/" not in name and not name.startswith(".")


def copies(call: Invocation, operands: list[Arg]) -> Stream:
    """The files of a copy: those of this machine are read and sent, or written."""
    if not operands:
        return Stream(None)
    *sources, target = operands if len(operands) > 1 else [operands[0], operands[0]]
    to_far = far(target)
    for word in sources:
        if far(word):
            continue
        stream = call.stdin if word == "-" else call.reads(word.like(word.removeprefix("file://")))
        if to_far:
            call.sends(stream.taint | word.taint, target)
    if not to_far and any(far(word) for word in sources):
        if target == "-":
            return Stream(None, NETWORK, str(sources[0]))
        content = Stream(None, NETWORK, str(sources[0]))
        call.writes(target, content=content)
        for word in sources:
            inside = call.path(target) + "/" + word.rpartition("/")[2]
            call.walker.files.put(inside, content)
    return Stream(None)


_COPYING = frozenset(
    "cp copy mv move sync rsync put get copyto moveto mirror cpr pipe upload download".split()
)
_NOT_DRY = frozenset(("--dry-run=false", "--dry-run=0", "--dry-run=no", "-n=false"))
_PRINTING = frozenset("cat head rcat".split())


def store(call: Invocation) -> Stream:
    """`gsutil`, `rclone`, `s3cmd` and their kin: a card, and the files that a copy touches."""
    card = card_of(call)
    # Attack: `--dry-run=false` looks like a dry run and is none.
    call.args = [word for word in call.args if word.lower() not in _NOT_DRY]
    options = options_of(call)
    action = action_of(card, options)
    out = follow(call)
    operands = options.operands
    verb = str(operands[0]) if operands else ""
    if action == "read" or options.has("--dry-run", "--dryrun", "-n", "--fake"):
        return (
            Stream(None, NETWORK, str(operands[1]))
            if verb in _PRINTING and len(operands) > 1
            else out
        )
    if verb in _COPYING:
        words = operands[1:]
        if call.name in ("mc", "mcli"):
            words = [_alias(word) for word in words]
        return copies(call, words)
    if verb in ("rcat", "pipe") and len(operands) > 1:
        call.sends(call.stdin.taint, operands[1])
    if verb == "copyurl" and len(operands) > 1:
        call.host(operands[1])
    return out


def _alias(word: Arg) -> Arg:
    """MinIO names its stores by an alias, `store/bucket/key`; paths begin with a dot or slash."""
    if word.startswith(("/", ".", "~")) or "/" not in word:
        return word
    return word.like(f"s3://{word}")


def carries_files(call: Invocation) -> int:
    """Taint of files that options name as `file://…`, `fileb://…` or `@…`; notes the reading."""
    taint = 0
    for word in call.args:
        _, _, value = word.partition("=") if word.startswith("-") else ("", "", word)
        value = value or word
        for sign in ("file://", "fileb://", "@"):
            if value.startswith(sign) and len(value) > len(sign):
                taint |= call.reads(word.like(value[len(sign) :])).taint
        taint |= word.taint
    return taint


def says_sent(call: Invocation, taint: int, where: str) -> None:
    """Secrets that go along with a request to a service are exfiltration."""
    from redoma.judge.interpret.arg import SECRET

    if taint & SECRET:
        call.fact(Effect.EXFILTRATES, detail=where)


_DELETING = (
    "--delete --delete-before --delete-during --delete-delay --delete-after --delete-excluded "
    "--delete-missing-args --del".split()
)


def rsync(call: Invocation) -> Stream:
    """`rsync`: reads, writes and sends; `--delete` removes what the source does not have."""
    options = options_of(call)
    for text in options.values(
        "-e", "--rsh", "--rsync-path", "--remote-shell", "--password-command"
    ):
        if str(text) not in ("ssh", "rsh", "rsync"):
            call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
            call.run_shell(text)
    for word in options.values(
        "--files-from", "--exclude-from", "--include-from", "--password-file"
    ):
        call.reads(word)
    operands = list(options.operands)
    if options.has("--daemon"):
        call.fact(Effect.NETWORK, tags=("listen",))
        return ANYTHING
    only_looks = options.has("-n", "--dry-run", "--list-only") or len(operands) < 2
    if only_looks:
        for word in operands:
            if remote(word):
                call.host(word, "query")
        return ANYTHING
    for word in options.values("--log-file", "--write-batch", "--only-write-batch"):
        call.writes(word)
    _copies(call, options, operands[:-1], operands[-1])
    return NOTHING


def remote(word: Arg) -> bool:
    """`host:path`, `host::module` or `rsync://host/module`."""
    if word.startswith("rsync://"):
        return True
    host, colon, _ = word.partition(":")
    return bool(colon) and "/" not in host and bool(host)


def _copies(call: Invocation, options: ProgramOptions, sources: list[Arg], target: Arg) -> None:
    local = [word for word in sources if not remote(word)]
    carried = packed(call, local)
    deletes = options.has(*_DELETING)
    for word in sources:
        if remote(word):
            call.host(word, "download")
    if options.has("--remove-source-files", "--remove-sent-files"):
        for word in local:
            call.deletes(word, "recursive", "sync")
    if remote(target):
        call.sends(carried.taint, target)
        if deletes:
            call.fact(Effect.REMOTE, tags=("destroy",), at=target.span, detail="--delete")
        return
    recursive = ("recursive",) if options.has("-r", "-a", "--archive", "--recursive") else ()
    call.writes(target, *recursive)
    if deletes:
        call.deletes(target, "recursive", "sync")
    fetched = NETWORK if len(local) < len(sources) else 0
    if fetched or carried.taint:
        held = Stream(None, carried.taint | fetched, str(sources[0]))
        call.walker.files.put(call.path(target).rstrip("/") + "/", held)
        call.walker.files.put(call.path(target), held)


_CLIPBOARD = "clipboard:"
_PASTERS = frozenset(("pbpaste", "wl-paste", "termux-clipboard-get", "getclip"))


def clipboard(call: Invocation) -> Stream:
    """What was copied comes out again with all that it carries."""
    files = call.walker.files
    options = options_of(call)
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


def mail(call: Invocation) -> Stream:
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


def drop(call: Invocation) -> Stream:
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
