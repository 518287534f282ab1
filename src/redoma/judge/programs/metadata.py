"""`exiftool`: shows what files say about themselves, or rewrites it."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, Stream
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_TAKES = frozenset(
    "-api -c -coordFormat -charset -d -dateFormat -echo -echo1 -echo2 -echo3 -echo4 -ext "
    "-extension -i -ignore -lang -p -printFormat -sep -separator -userParam -x -exclude -efile "
    "-password -listItem -globalTimeShift -require".split()
)
_SETTINGS = frozenset("-api -charset -lang -ext -efile -userparam -sep".split())
_RUNS = frozenset(("-config", "-if", "-if2", "-fileOrder", "-fileorder", "-@", "-stay_open"))
_WRITES = frozenset(
    "-tagsfromfile -addtagsfromfile -geotag -restore_original -delete_original -delete_original! "
    "-overwrite_original -overwrite_original_in_place".split()
)
_OUTPUT = frozenset("-o -out".split())
_TEXT_OUTPUT = ("-w", "-textOut", "-W", "-tagOut")


def exiftool(call: Call) -> Stream:
    """An option with `=` sets a tag, and with it rewrites the files; `-if` is Perl code."""
    files = []
    changes = False
    index = 0
    words = call.args
    while index < len(words):
        word = words[index]
        index += 1
        if word[:1] != "-" or word == "-":
            files.append(word)
            continue
        name, equals, _ = word.partition("=")
        value = words[index] if index < len(words) else None
        if name in _RUNS:
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=word.span)
            index += 1
        elif name in _OUTPUT or name.rstrip("!+") in _TEXT_OUTPUT:
            if value is not None and name in _OUTPUT:
                call.writes(value)
            else:
                call.fact(Effect.WRITES, tags=("project",), at=word.span)
            index += 1
        elif name.lower() in _WRITES:
            changes = True
            index += 1 if "fromfile" in name.lower() or name == "-geotag" else 0
        elif name in _TAKES:
            index += 1
        elif (equals and name not in _SETTINGS) or "<" in word or ">" in word:
            changes = True
    streams = [call.reads(word) for word in files]
    if changes:
        for word in files:
            call.writes(word, "edit")
        if not files:
            call.fact(Effect.WRITES, tags=("project", "edit"))
    return call.passes_on(*streams) if streams else ANYTHING
