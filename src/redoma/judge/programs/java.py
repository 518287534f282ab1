"""`java`: a class or an archive is run; agents and remote debugging are said."""

from __future__ import annotations

from redoma.judge.interpret.arg import Stream
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.deeds import do
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_REMOTE_DELETES = (
    "delete-",
    "delete_",
    "remove-",
    "destroy-",
    "purge-",
    "safe-shutdown",
    "shutdown",
    "quiet-down",
    "disable-",
    "clear-",
)


def java(call: Call) -> Stream:
    """Finds what is run: `-jar FILE`, a class, or a source file."""
    if any(
        w in ("-version", "--version", "-help", "--help", "-h", "-?", "-X") for w in call.args[:1]
    ):
        return Stream(None)
    options = options_of(call)
    for name, _, word in options.order:
        if name.startswith(
            (
                "-javaagent",
                "-agentpath",
                "-agentlib",
                "-Xrun",
                "-XX:OnError",
                "-XX:OnOutOfMemoryError",
            )
        ):
            call.fact(Effect.EXECUTES, tags=("library",), at=word.span)
    archive = options.value("-jar")
    if archive is not None:
        call.executes_file(archive, "")
    elif options.operands:
        first = options.operands[0]
        if first.endswith(".java"):
            call.executes_file(first, "java")
        else:
            do(call, "build")
    if archive is not None and archive.endswith("-cli.jar"):
        _client(call, [str(w) for w in options.operands])
    return Stream(None, call.stdin.taint)


def _client(call: Call, words: list[str]) -> None:
    """A service's command line (such as that of Jenkins): verbs that delete are its worst."""
    for word in words:
        if word.startswith(_REMOTE_DELETES):
            call.fact(Effect.REMOTE, tags=("destroy",), detail=word)
            return
    verb = next(
        (
            w
            for w in words
            if w.isascii() and w.replace("-", "").isalpha() and not w.startswith("-")
        ),
        "",
    )
    reads = verb.startswith(("list-", "get-", "who-am-i", "help", "version", "console", "tail"))
    call.fact(Effect.READS if reads else Effect.REMOTE, detail=verb)
