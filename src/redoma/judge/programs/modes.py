"""Programs that change who owns a file and who may do what with it."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NOTHING, Arg, Stream
from redoma.judge.programs.cards import options_of
from redoma.model.risk import Effect, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

_OCTAL = re.compile(r"[0-7]{1,5}")
_MODE = re.compile(r"-[rwxXst]+(?:,\S*)?")


def chmod(call: Call) -> Stream:
    """`chmod`: setuid bits raise rights, world-writable bits give files away."""
    # `chmod -x file`: a mode may begin with a dash, so it is taken out before options are read.
    words = list(call.args)
    mode = next((w for w in words if _MODE.fullmatch(w) and not set(w[1:]) <= set("R")), None)
    if mode is not None:
        words.remove(mode)
    options = options_of(call, words)
    operands = list(options.operands)
    if mode is None and not options.has("--reference") and operands:
        mode = operands.pop(0)
    tags = ["mode", *_mode_marks(str(mode or ""))]
    if "setuid" in tags:
        call.fact(Effect.PRIVILEGE, tags=("grant",))
    _each(call, operands, options, tags)
    return NOTHING


def _mode_marks(mode: str) -> list[str]:
    """What the mode means: `setuid`, `world` (others may write) or `tightens`."""
    if _OCTAL.fullmatch(mode):
        bits = int(mode, 8)
        marks = ["setuid"] if bits & 0o6000 else []
        if bits & 0o002:
            marks.append("world")
        if not bits & 0o077 and bits & 0o400:
            marks.append("tightens")
        return marks
    marks = []
    for clause in mode.split(","):
        who, _, what = re.sub(r"[+=]", " + ", clause, count=1).partition(" + ")
        if what and "s" in what:
            marks.append("setuid")
        if what and "w" in what and ("o" in who or "a" in who):
            marks.append("world")
    if mode and all(re.fullmatch(r"[go]+(-[rwx]+|=)", clause) for clause in mode.split(",")):
        marks.append("tightens")
    return marks


def chown(call: Call) -> Stream:
    """`chown`, `chgrp`: who owns it from now on."""
    options = options_of(call)
    operands = list(options.operands)
    if not options.has("--reference"):
        operands = operands[1:]
    _each(call, operands, options, ["owner"])
    return NOTHING


def chattr(call: Call) -> Stream:
    """`chattr`: `+i` locks a file against everyone."""
    words = [w for w in call.args if not re.fullmatch(r"[-+=][aAcCdDeFijmPsStTuxE]+", w)]
    options = options_of(call, words)
    recursive = any(w.startswith("-") and "R" in w for w in call.args)
    tags = ["mode", *(["recursive"] if recursive else [])]
    for word in options.operands:
        call.writes(word, *tags)
    return NOTHING


def setfacl(call: Call) -> Stream:
    options = options_of(call)
    for word in options.values(
        "-M", "-X", "--modify-file", "--remove-file", "--set-file", "--restore"
    ):
        call.reads(word)
    _each(call, options.operands, options, ["mode"])
    if options.has("--restore"):
        call.fact(Effect.WRITES, tags=("project", "mode"))
    return NOTHING


def setcap(call: Call) -> Stream:
    """`setcap`: a program gets rights of root."""
    words = options_of(call).operands
    call.fact(Effect.PRIVILEGE, tags=("grant",))
    for word in words[1:2]:
        call.writes(word, "mode")
    return NOTHING


def setfattr(call: Call) -> Stream:
    for word in options_of(call).operands:
        call.writes(word, "mode")
    return NOTHING


def _each(call: Call, words: list[Arg], options: Options, tags: list[str]) -> None:
    recursive = options.has("-R", "--recursive")
    for word in words:
        marks = [*tags, *(["recursive"] if recursive else [])]
        target, _ = call.written_target(word)
        if "*" in word and target.place in (Place.ROOT, Place.SYSTEM_TREE, Place.HOME_ROOT):
            marks.append("recursive")
        if recursive and target.place is Place.TEMP and call.path(word) in ("/tmp", "/var/tmp"):
            marks.append("temp-root")
        call.writes(word, *marks)
