"""`ls` and its like: names, sizes and dates, never content."""

from __future__ import annotations

from redoma.judge.interpret.arg import NAMES, Stream
from redoma.judge.interpret.paths import place_of
from redoma.judge.interpret.sensitive import is_secret
from redoma.judge.programs.options import split
from redoma.judge.text.glob import has_glob
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_TAKES = {
    "stat": frozenset("-c --format --printf".split()),
    "tree": frozenset("-L -P -I -o -H -T --filelimit --timefmt --charset --sort --gitfile".split()),
    "file": frozenset("-e --exclude -F --separator -P --parameter -f --files-from -m".split()),
}
_LS_TAKES = frozenset(
    "-I --ignore -w --width -T --tabsize --time-style --block-size --sort --time --format --hide "
    "--indicator-style --quoting-style --level --ignore-glob --depth".split()
)
_OURS = (Place.WORKSPACE, Place.TEMP, Place.REPOSITORY)


def look(call: Call) -> Stream:
    """Lists names; those of keys outside the project tell an attacker where to look next."""
    options = split(call.args, _TAKES.get(call.name, _LS_TAKES))
    if call.name == "tree":
        for word in options.values("-o"):
            call.writes(word)
        if options.has("-R") and options.has("-H"):
            call.fact(Effect.WRITES, tags=("project",), detail="00Tree.html")
    if call.name == "file":
        for word in options.values("-f", "--files-from", "-m"):
            call.reads(word)
        if options.has("-C", "--compile"):
            call.fact(Effect.WRITES, tags=("project",))
    for word in options.operands:
        path = call.path(word)
        if is_secret(path) and place_of(path, call.walker.ground) not in _OURS:
            target = Target(text=word, place=Place.SECRET)
            call.fact(Effect.SECRETS, target, tags=("names",), at=word.span)
    patterns = [word for word in options.operands if has_glob(word) or options.has("-d")]
    if patterns and len(patterns) == len(options.operands) and not options.has("-l"):
        return Stream("".join(f"{word}\n" for word in patterns[:16]), NAMES)
    return Stream(None)
