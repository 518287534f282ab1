"""`rsync`: copies trees here and to other machines, and may delete on the way."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, NETWORK, NOTHING, Arg, Stream
from redoma.judge.programs.archives import packed
from redoma.judge.programs.cards import options_of
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

_DELETING = (
    "--delete --delete-before --delete-during --delete-delay --delete-after --delete-excluded "
    "--delete-missing-args --del".split()
)


def rsync(call: Call) -> Stream:
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


def _copies(call: Call, options: Options, sources: list[Arg], target: Arg) -> None:
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
