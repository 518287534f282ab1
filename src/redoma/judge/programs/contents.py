"""Programs that fill, empty, cut up and patch files, or rewrite what files say of themselves."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, ENDLESS, NOTHING, SECRET, Stream, arg
from redoma.judge.interpret.loops import from_device
from redoma.judge.programs.card_actions import says_it_destroys
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.files import makes
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_NONE: frozenset[str] = frozenset()


def dd(call: Invocation) -> Stream:
    """`dd`: `if=` is read, `of=` overwritten; nothing into something empties it."""
    stream = call.stdin
    source, target = "", None
    for word in call.args:
        name, equals, value = word.partition("=")
        if not equals:
            if not word.known:
                call.fact(Effect.UNKNOWN, tags=("subcommand",), at=word.span, detail="dd")
            continue
        if name == "if":
            source = value
            stream = call.reads(word.like(value), "raw")
        elif name == "of":
            target = word.like(value)
    if target is None:
        return Stream(stream.text, stream.taint, stream.source)
    tags = ("overwrite", "empties") if source == "/dev/null" else ("overwrite",)
    endless = from_device(source) is not None or stream.taint & ENDLESS
    if endless and not any(word.startswith("count=") for word in call.args):
        call.fact(Effect.SYSTEM, call.written_target(target)[0], tags=("fills",))
    call.writes(target, *tags, content=stream)
    return NOTHING


def shred(call: Invocation) -> Stream:
    """`shred`, `wipe`: what goes this way does not come back."""
    for word in options_of(call).operands:
        target, marks = call.written_target(word)
        effect = Effect.WRITES if target.place is Place.DEVICE else Effect.DELETES
        call.fact(effect, target, tags=("shred", *marks), at=word.span)
    return NOTHING


def truncate(call: Invocation) -> Stream:
    """`truncate -s 0` empties; growing a file loses nothing."""
    options = options_of(call)
    size = options.value("-s", "--size") or ""
    grows = size.startswith(("+", ">")) and not size.startswith(">0")
    for word in options.operands:
        call.writes(word, *(("grow",) if grows else ("overwrite", "empties")))
    return NOTHING


def touch(call: Invocation) -> Stream:
    for word in options_of(call).operands:
        makes(call, word)
    return NOTHING


def mkdir(call: Invocation) -> Stream:
    for word in options_of(call).operands:
        makes(call, word)
    return NOTHING


def mknod(call: Invocation) -> Stream:
    """`mknod NAME b 8 0` gives a name to a device; a fifo is only a pipe."""
    options = options_of(call)
    operands = options.operands
    for word in operands[:1]:
        makes(call, word)
    if any(word in ("b", "c", "u") for word in operands[1:2]):
        call.fact(Effect.SYSTEM, tags=("device",))
    return NOTHING


def fallocate(call: Invocation) -> Stream:
    """`fallocate`, `mkswap`: a file grows; holes dug into it lose data."""
    options = options_of(call)
    digs = options.has("-c", "-d", "-p", "-z", "--punch-hole", "--zero-range", "--collapse-range")
    for word in options.operands:
        call.writes(word, *(("empties",) if digs else ("overwrite",)))
    return NOTHING


def mktemp(call: Invocation) -> Stream:
    """`mktemp` makes a file in /tmp and prints its name; `-u` only prints."""
    options = options_of(call)
    if not options.has("-u", "--dry-run"):
        target = Target(text="/tmp", place=Place.TEMP)
        for word in options.operands[:1]:
            if not options.has("-t", "-p", "--tmpdir"):
                target, _ = call.written_target(word)
        call.fact(Effect.WRITES, target, tags=("new",))
    template = options.operands[0] if options.operands else None
    if template is not None and "/" in template and template.known:
        return Stream(template.rstrip("X") + "0" * 6 + "\n")
    return Stream("/tmp/tmp.000000\n")


def cut_up(call: Invocation) -> Stream:
    """`split`, `csplit`: pieces land beside each other; `--filter` runs a command for each."""
    options = options_of(call)
    if call.name == "split" and says_it_destroys(options.operands[1:]):
        # A service has a client of the same name; no file is called `delete`.
        call.fact(Effect.REMOTE, tags=("destroy",), detail=" ".join(options.operands[:3]))
    streams = [call.reads(w) for w in options.operands[:1] if w != "-"] or [call.stdin]
    for text in options.values("--filter"):
        call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
        return call.run_shell(text, stdin=streams[0])
    prefix = options.value("-f", "--prefix")
    if call.name.endswith("csplit"):
        call.writes(prefix if prefix is not None else arg("xx00", call.word.span))
    else:
        words = options.operands[1:2] or [arg("xaa", call.word.span)]
        piece = streams[0].passed_through()
        call.writes(words[0], content=piece)
        for ending in ("aa", "ab", "00", "01"):
            call.walker.files.put(call.path(words[0]) + ending, piece)
    return NOTHING


def patch(call: Invocation) -> Stream:
    """`patch`: the files a patch names change; a dry run changes none."""
    options = options_of(call)
    for word in [*options.values("-i", "--input"), *options.operands[1:2]]:
        call.reads(word)
    if options.has("--dry-run", "-C", "--check"):
        return ANYTHING
    output = options.value("-o", "--output")
    named = [output] if output is not None else options.operands[:1]
    directory = options.value("-d", "--directory")
    for word in named or ([directory] if directory is not None else []):
        call.writes(word, "patch")
    if not named and directory is None:
        call.fact(Effect.WRITES, tags=("project", "patch"))
        for path in patched(call.stdin.text or ""):
            call.writes(arg(path, call.word.span), "patch")
    return ANYTHING


def patched(text: str) -> list[str]:
    """The files that a unified diff would change, at most two hundred."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith("+++ ") and len(found) < 200:
            name = line[4:].partition("\t")[0].strip().strip('"')
            if name and name != "/dev/null":
                found.append(name.removeprefix("b/"))
    return found


def sponge(call: Invocation) -> Stream:
    """`sponge FILE`: all input, then the file."""
    options = options_of(call)
    for word in options.operands:
        secret = ("secret",) if call.stdin.taint & SECRET else ()
        append = "append" if options.has("-a") else "overwrite"
        call.writes(word, append, *secret, content=call.stdin)
    return call.stdin if not options.operands else NOTHING


def make_filesystem(call: Invocation) -> Stream:
    """`mkfs`: everything on its target goes; an image file in the project is only a file."""
    words = options_of(call).operands
    for word in words:
        if word.known and not ("/" in word or "." in word):
            continue
        call.writes(word, "overwrite")
    if not words:
        call.fact(Effect.SYSTEM, tags=("device",))
    return NOTHING


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


def exiftool(call: Invocation) -> Stream:
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
