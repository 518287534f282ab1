"""Programs that remove, copy, move and link files, and those that change owners and rights."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NOTHING, Arg, Stream, arg
from redoma.judge.interpret.places import normal
from redoma.judge.interpret.sensitive import program_place
from redoma.judge.programs.cards import follow, options_of
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_TEMP_ROOTS = frozenset("/tmp /var/tmp /private/tmp /private/var/tmp /dev/shm".split())
_AROUND = (Place.WORKSPACE, Place.TEMP, Place.NOWHERE)


def rm(call: Invocation) -> Stream:
    """`rm`: what goes, and whether whole trees go."""
    options = options_of(call)
    recursive = options.has("-r", "-R", "--recursive")
    tags = ("recursive",) if recursive else ()
    for word in options.operands:
        removes(call, word, *tags)
    if not options.operands and not options.has("--help", "--version"):
        # What it should remove is missing here; the one who wrote it meant something.
        missing = Target(text="what is not named here", place=Place.UNKNOWN)
        call.fact(Effect.DELETES, missing, tags=("nothing", *tags))
    return NOTHING


def removes(call: Invocation, word: Arg, *tags: str) -> None:
    """A removal, with a mark on all of the machine's temporary files."""
    path = call.path(word).rstrip("*").rstrip("/")
    call.deletes(word, *tags, *(("temp-root",) if path in _TEMP_ROOTS else ()))


def gio(call: Invocation) -> Stream:
    """`gio trash`, `gio remove`: files go; the rest is as its card says."""
    if call.args[:1] in (["trash"], ["remove"]):
        for word in call.args[1:]:
            if word[:1] != "-":
                removes(call, word, "recursive")
        return NOTHING
    return follow(call)


def cmake(call: Invocation) -> Stream | None:
    """`cmake -E rm …`, `cmake -E env CMD …`: its own tools, as those of the same name."""
    from redoma.judge.programs.projects import project

    words = call.args[1:] if call.args[:1] == ["-E"] else []
    if words[:1] == ["chdir"]:
        return call.run_args([words[0].like("env"), words[0].like("-C"), *words[1:]])
    if words and words[0] in _CMAKE_TOOLS:
        program = _CMAKE_TOOLS[words[0]].split()
        return call.run_args([*(words[0].like(each) for each in program), *words[1:]])
    return project(call)


_CMAKE_TOOLS = {
    "rm": "rm",
    "remove": "rm",
    "remove_directory": "rm -r",
    "copy": "cp",
    "copy_directory": "cp -r",
    "copy_if_different": "cp",
    "rename": "mv",
    "create_symlink": "ln -s",
    "env": "env",
    "time": "nohup",
    "cat": "cat",
    "touch": "touch",
    "make_directory": "mkdir -p",
}


def rmdir(call: Invocation) -> Stream:
    """`rmdir`: only empty directories go."""
    for word in options_of(call).operands:
        target, _ = call.written_target(word)
        tags = ("empty",) if target.place in _AROUND else ("empty", "outside")
        call.fact(Effect.DELETES, target, tags=tags, at=word.span)
    return NOTHING


def copy(call: Invocation) -> Stream:
    """`cp`, `mv`, `install`: reads the sources, writes the target; `mv` removes the sources."""
    installs = call.name.endswith("install")
    options = options_of(call)
    operands = list(options.operands)
    if installs and options.has("-d", "--directory"):
        for word in operands:
            makes(call, word)
        return NOTHING
    for program in options.values("--strip-program"):
        call.run_args([program])
    target = options.value("-t", "--target-directory")
    if target is None:
        if len(operands) < 2:
            for word in operands:
                call.writes(word)
            return NOTHING
        target = operands.pop()
    moves = call.name.endswith("mv")
    recursive = ("recursive",) if options.has("-r", "-R", "-a", "--recursive", "--archive") else ()
    held = [_source(call, word, moves=moves) for word in operands]
    if call.path(target) == "/dev/null" and moves:
        for word in operands:
            call.deletes(word, "recursive", "moved")
    if [str(word) for word in operands] == ["/dev/null"]:
        call.writes(target, "overwrite", "empties")
    removing = ("removes",) if options.has("--remove-destination") else ()
    _lands(call, target, operands, (*recursive, *removing))
    keeps_links = moves or options.has("-a", "-d", "-P", "--archive", "--no-dereference")
    links = options.has("-s", "--symbolic-link", "-l", "--link")
    for word, stream in zip(operands, held, strict=True):
        source = call.named(word)
        if links and not installs:
            _link(call, word, target)
        elif keeps_links and source in call.state.links:
            _link(call, word.like(call.state.links[source]), target)
        call.walker.files.put(_inside(call, target, word), stream)
    if len(held) == 1:
        call.walker.files.put(call.path(target), held[0])
    return NOTHING


def _lands(call: Invocation, target: Arg, operands: list[Arg], tags: tuple[str, ...]) -> None:
    """The write: into a large directory it is what will lie there that counts."""
    place, _ = call.written_target(target)
    large = place.place in (Place.HOME_ROOT, Place.SYSTEM_TREE, Place.ROOT)
    if (large or program_place(call.path(target)) == "") and "recursive" not in tags:
        for word in operands:
            call.writes(target.like(f"{target}/{word.rstrip('/').rpartition('/')[2]}"), *tags)
        return
    call.writes(target, *tags)


def _inside(call: Invocation, target: Arg, word: Arg) -> str:
    return call.path(target) + "/" + word.rstrip("/").rpartition("/")[2]


def _source(call: Invocation, word: Arg, *, moves: bool) -> Stream:
    stream = call.reads(word)
    if moves:
        target, marks = call.written_target(word)
        if target.place is Place.UNKNOWN and "root-if-empty" not in marks:
            call.fact(Effect.WRITES, target, tags=("moved",), at=word.span)
        elif target.place not in _AROUND or "whole" in marks:
            call.fact(Effect.DELETES, target, tags=("moved", "recursive", *marks), at=word.span)
    return stream


def makes(call: Invocation, word: Arg) -> None:
    """A directory or an empty file is made: where counts, not what the name stands for."""
    from redoma.judge.interpret.places import place_of

    path = call.path(word)
    place = place_of(path, call.walker.ground)
    if place is not Place.NOWHERE:
        call.fact(Effect.WRITES, Target(text=word, place=place), tags=("new",), at=word.span)


def ln(call: Invocation) -> Stream:
    """`ln`: a link to a system place makes later writes land there."""
    options = options_of(call)
    operands = list(options.operands)
    if not operands:
        return NOTHING
    target = options.value("-t", "--target-directory")
    if target is None and len(operands) > 1:
        target = operands.pop()
    elif target is None:
        target = arg(operands[0].rpartition("/")[2] or ".", operands[0].span)
    call.writes(target.like(call.named(target)) if call.state.links else target)
    for word in operands:
        place, _ = call.written_target(word)
        if place.place not in (*_AROUND, Place.OUTSIDE):
            linked = Target(text=word, place=place.place)
            call.fact(Effect.READS, linked, tags=("linked",), at=word.span)
        held = call.reads(word)
        call.walker.files.put(call.path(target), held)
        _link(call, word, target)
    return NOTHING


def _link(call: Invocation, word: Arg, target: Arg) -> None:
    """A name that leads elsewhere from now on: the target itself, or one in it if it is there."""
    place = call.named(target).rstrip("/") or "/"
    name = word.rstrip("/").rpartition("/")[2]
    state = call.state
    if not f"{state.cwd}/".startswith(f"{place}/") and not target.endswith("/"):
        state.link(place, normal(word, place.rpartition("/")[0]))
    if name not in ("", ".", ".."):
        state.link(f"{place}/{name}", normal(word, place))


_OCTAL = re.compile(r"[0-7]{1,5}")
_MODE = re.compile(r"-[rwxXst]+(?:,\S*)?")


def chmod(call: Invocation) -> Stream:
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


def chown(call: Invocation) -> Stream:
    """`chown`, `chgrp`: who owns it from now on."""
    options = options_of(call)
    operands = list(options.operands)
    if not options.has("--reference"):
        operands = operands[1:]
    _each(call, operands, options, ["owner"])
    return NOTHING


def chattr(call: Invocation) -> Stream:
    """`chattr`: `+i` locks a file against everyone."""
    words = [w for w in call.args if not re.fullmatch(r"[-+=][aAcCdDeFijmPsStTuxE]+", w)]
    options = options_of(call, words)
    recursive = any(w.startswith("-") and "R" in w for w in call.args)
    tags = ["mode", *(["recursive"] if recursive else [])]
    for word in options.operands:
        call.writes(word, *tags)
    return NOTHING


def setfacl(call: Invocation) -> Stream:
    options = options_of(call)
    for word in options.values(
        "-M", "-X", "--modify-file", "--remove-file", "--set-file", "--restore"
    ):
        call.reads(word)
    _each(call, options.operands, options, ["mode"])
    if options.has("--restore"):
        call.fact(Effect.WRITES, tags=("project", "mode"))
    return NOTHING


def setcap(call: Invocation) -> Stream:
    """`setcap`: a program gets rights of root."""
    words = options_of(call).operands
    call.fact(Effect.PRIVILEGE, tags=("grant",))
    for word in words[1:2]:
        call.writes(word, "mode")
    return NOTHING


def setfattr(call: Invocation) -> Stream:
    for word in options_of(call).operands:
        call.writes(word, "mode")
    return NOTHING


def _each(call: Invocation, words: list[Arg], options: ProgramOptions, tags: list[str]) -> None:
    recursive = options.has("-R", "--recursive")
    for word in words:
        marks = [*tags, *(["recursive"] if recursive else [])]
        target, _ = call.written_target(word)
        if "*" in word and target.place in (Place.ROOT, Place.SYSTEM_TREE, Place.HOME_ROOT):
            marks.append("recursive")
        if recursive and target.place is Place.TEMP and call.path(word) in ("/tmp", "/var/tmp"):
            marks.append("temp-root")
        call.writes(word, *marks)
