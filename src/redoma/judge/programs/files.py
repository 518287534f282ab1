"""Programs that remove, copy, move and link files."""

from __future__ import annotations

from redoma.judge.interpret.arg import NOTHING, Arg, Stream, arg
from redoma.judge.programs.options import split
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_RM_KNOWN = frozenset(
    "--recursive --force --interactive --one-file-system --no-preserve-root --preserve-root --dir --verbose".split()
)


def rm(call: Call) -> Stream:
    """`rm`: what goes, and whether whole trees go."""
    options = split(call.args, frozenset(), _RM_KNOWN)
    recursive = options.has("-r", "-R", "--recursive")
    tags = ("recursive",) if recursive else ()
    for word in options.operands:
        call.deletes(word, *tags)
    return NOTHING


def rmdir(call: Call) -> Stream:
    for word in split(call.args, frozenset()).operands:
        call.deletes(word, "empty")
    return NOTHING


_COPY_TAKES = frozenset("-t --target-directory -S --suffix --context -m --mode -o --owner -g --group".split())


def copy(call: Call) -> Stream:
    """`cp`, `mv`, `install`: reads the sources, writes the target; `mv` removes the sources."""
    options = split(call.args, _COPY_TAKES, optional=frozenset(("--backup",)))
    operands = list(options.operands)
    target = options.value("-t", "--target-directory")
    if target is None:
        if len(operands) < 2:
            for word in operands:
                call.writes(word)
            return NOTHING
        target = operands.pop()
    moves = call.name == "mv"
    recursive = ("recursive",) if options.has("-r", "-R", "-a", "--recursive", "--archive") else ()
    held = [_source(call, word, moves=moves, recursive=recursive) for word in operands]
    content = held[0] if len(held) == 1 else None
    if str(target) == "/dev/null" and moves:
        for word in operands:
            call.deletes(word, "recursive")
    call.writes(target, *recursive, *(("removes",) if options.has("--remove-destination") else ()))
    for word, stream in zip(operands, held, strict=True):
        inside = call.path(target) + "/" + word.rpartition("/")[2]
        call.walker.files.put(inside, stream)
    if content is not None:
        call.walker.files.put(call.path(target), content)
    return NOTHING


def _source(call: Call, word: Arg, *, moves: bool, recursive: tuple[str, ...]) -> Stream:
    stream = call.reads(word)
    if moves:
        target, marks = call.written_target(word)
        if target.place not in (Place.WORKSPACE, Place.TEMP, Place.NOWHERE) or "whole" in marks:
            call.fact(Effect.DELETES, target, tags=("moved", "recursive", *marks), at=word.span)
    return stream


def ln(call: Call) -> Stream:
    """`ln`: a link to a system place makes later writes land there."""
    options = split(call.args, frozenset("-t --target-directory -S --suffix".split()))
    operands = list(options.operands)
    if not operands:
        return NOTHING
    target = options.value("-t", "--target-directory")
    if target is None and len(operands) > 1:
        target = operands.pop()
    elif target is None:
        target = arg(operands[0].rpartition("/")[2] or ".", operands[0].span)
    call.writes(target)
    for word in operands:
        place, _ = call.written_target(word)
        if place.place not in (Place.WORKSPACE, Place.TEMP, Place.NOWHERE, Place.OUTSIDE):
            linked = Target(text=word, place=place.place)
            call.fact(Effect.READS, linked, tags=("linked",), at=word.span)
    return NOTHING


PROGRAMS = {
    "rm": rm,
    "rmdir": rmdir,
    "unlink": rm,
    "cp": copy,
    "mv": copy,
    "install": copy,
    "ln": ln,
}
