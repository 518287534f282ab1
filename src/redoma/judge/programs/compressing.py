"""`gzip`, `zip`, `7z` and their like: packing, unpacking and looking inside."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, DECODED, NOTHING, Arg, Stream, arg
from redoma.judge.programs.archives import packed, unpacks_into
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_ENDINGS = {
    "gzip": ".gz",
    "pigz": ".gz",
    "bzip2": ".bz2",
    "pbzip2": ".bz2",
    "xz": ".xz",
    "lzma": ".lzma",
    "zstd": ".zst",
    "lz4": ".lz4",
    "brotli": ".br",
    "compress": ".Z",
    "lzip": ".lz",
    "lzop": ".lzo",
}
_UNPACKERS = {
    "gunzip": "gzip",
    "uncompress": "compress",
    "bunzip2": "bzip2",
    "unxz": "xz",
    "unlzma": "lzma",
    "unzstd": "zstd",
    "unlz4": "lz4",
    "unpigz": "pigz",
}
_SHOWERS = ("zcat", "gzcat", "bzcat", "xzcat", "lzcat", "zstdcat", "lz4cat", "lzmacat", "brcat")
_TAKES = frozenset(
    "-S --suffix -o --output -T --threads --format -p --processes -b --blocksize --memlimit "
    "--memory --block-size --block-list -w --lgwin".split()
)


def squeeze(call: Call) -> Stream:
    """One file in, one file out, the first one gone; to standard output it only reads."""
    name = call.name
    options = split(
        call.args, _takes_for(name), optional=frozenset(("--long", "--fast", "--adapt"))
    )
    unpacks = (
        name in _UNPACKERS
        or name in _SHOWERS
        or options.has("-d", "--decompress", "--uncompress", "-t", "--test", "-l", "--list")
    )
    taint = DECODED if unpacks else 0
    if options.has("-t", "--test", "-l", "--list"):
        for word in options.operands:
            call.reads(word)
        return ANYTHING
    output = options.value("-o", "--output")
    shows = name in _SHOWERS or options.has("-c", "--stdout", "--to-stdout") or not options.operands
    streams = [call.reads(w) if w != "-" else call.stdin for w in options.operands] or [call.stdin]
    made = call.passes_on(*streams)
    made = Stream(None, made.taint | taint, made.source or call.name)
    if output is not None and output != "-":
        call.writes(output, content=made)
        return NOTHING
    if (shows and output is None) or output == "-":
        return made
    keeps = options.has("-k", "--keep") or name in ("zstd", "unzstd", "lz4", "unlz4", "brotli")
    ending = _ENDINGS.get(_UNPACKERS.get(name, name), ".gz")
    recursive = ("recursive",) if options.has("-r", "--recursive") else ()
    for word in options.operands:
        result = word.removesuffix(ending) if unpacks else f"{word}{ending}"
        call.writes(
            word.like(result if result != word else f"{word}.out"), *recursive, content=made
        )
        if not keeps:
            target, marks = call.written_target(word)
            call.fact(Effect.WRITES, target, tags=("replaced", *recursive, *marks), at=word.span)
    return NOTHING


def _takes_for(name: str) -> frozenset[str]:
    if name in ("zstd", "unzstd", "zstdcat"):
        return frozenset(
            "-o -M -D --train --patch-from --filelist --output-dir-flat --output-dir-mirror".split()
        )
    if name in ("gzip", "gunzip", "bzip2", "bunzip2"):
        return frozenset(("-S", "--suffix"))
    return _TAKES | {"-F", "-M"} if "xz" in name else _TAKES


_ZIP_TAKES = frozenset(
    "-b --temp-path -i --include -n --suffixes -P --password -s --split-size -t "
    "--from-date -tt --before-date -x --exclude -Z --compression-method -O --output-file "
    "--out -TT --unzip-command -lf --logfile-path -ds --dot-size -sp".split()
)


def zip_(call: Call) -> Stream:
    """`zip`: packs; `-T -TT COMMAND` runs a command to test, `-m` removes what it packed."""
    options = options_of(call, _spread(call.args))
    for text in options.values("-TT", "--unzip-command"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=text.span)
        call.run_shell(text)
    if (
        options.has("-h", "-h2", "-v", "-L", "-sf", "--help", "--version", "--show-files")
        and not options.operands[1:]
    ):
        return ANYTHING
    named = options.operands[1:]
    if options.has("-T", "--test") and not named:
        return ANYTHING
    if options.has("-@"):
        from redoma.judge.programs.wrappers import incoming

        named = [*named, *incoming(call, call.stdin)]
    stream = packed(call, named)
    if options.has("-m", "--move"):
        for word in options.operands[1:]:
            call.deletes(word, "recursive")
    output = options.value("-O", "--output-file", "--out")
    for word in [output] if output is not None else options.operands[:1]:
        if word == "-":
            return stream
        call.writes(word, content=stream)
        if "." not in word.rpartition("/")[2]:
            call.walker.files.put(call.path(word) + ".zip", stream)
    return NOTHING


_ZIP_PAIRS = frozenset(
    "-DF -FF -FS -db -dc -dd -df -dg -ds -du -dv -fd -fz -h2 -ic -jj -la -lf -li -ll -mm "
    "-MM -nw -RE -sb -sc -sd -sf -so -sp -su -sU -sv -TT -tt -UN -ws -ww".split()
)


def _spread(words: list[Arg]) -> list[Arg]:
    """`-rm` is `-r -m`; only some pairs of letters are one option."""
    out: list[Arg] = []
    for word in words:
        bundle = word[:1] == "-" and word[1:].isalpha() and len(word) > 2
        if bundle and word not in _ZIP_PAIRS and word[:2] not in _ZIP_TAKES:
            out.extend(word.like(f"-{letter}") for letter in word[1:])
        else:
            out.append(word)
    return out


def unzip(call: Call) -> Stream:
    """`unzip`: lists and tests with `-l -t -Z -z`, prints with `-p -c`, else unpacks."""
    options = options_of(call)
    # `-Z` hands the rest to zipinfo, which only looks.
    if options.has("-l", "-t", "-Z", "-z", "-v", "-h") or not call.args:
        for word in options.operands[:1]:
            call.reads(word)
        return ANYTHING
    stream = ANYTHING
    for word in options.operands[:1]:
        stream = call.reads(word)
    if options.has("-p", "-c"):
        source = stream.source or "archive"
        return Stream(None, stream.taint | DECODED, source)
    target = options.value("-d")
    if target is not None:
        unpacks_into(call, target)
    else:
        call.fact(Effect.WRITES, tags=("project", "unpacked"))
        target = arg(".", call.word.span)
    if stream.taint:
        call.walker.files.put(
            call.path(target).rstrip("/") + "/", Stream(None, stream.taint, stream.source)
        )
    return NOTHING


def seven(call: Call) -> Stream:
    """`7z`, `rar`: one letter says what happens; `-o` and `-w` say where."""
    words = [w for w in call.args if not w.startswith("-")]
    flags = [w for w in call.args if w.startswith("-")]
    letter = words[0] if words else ""
    if letter in ("", "l", "t", "b", "i", "h", "lb", "lt", "v", "vb", "vt", "lta"):
        for word in words[1:2]:
            call.reads(word)
        return ANYTHING
    archive = words[1:2]
    if letter in ("e", "x"):
        stream = call.reads(archive[0]) if archive else ANYTHING
        if any(f == "-so" for f in flags):
            return Stream(None, stream.taint | DECODED, stream.source or "archive")
        targets = [
            f.like(f[2:]) for f in flags if f.startswith("-o") and len(f) > 2 and f[:3] != "-ow"
        ]
        if "rar" in call.name and len(words) > 2:
            targets = targets or [words[-1]]
        for target in targets:
            unpacks_into(call, target)
        if not targets:
            call.fact(Effect.WRITES, tags=("project", "unpacked"))
        return NOTHING
    if letter == "p" and "rar" in call.name:
        return Stream(None, DECODED, "archive")
    if letter in ("a", "u", "d", "rn", "f", "m", "mf", "s", "c", "rr", "k", "ch", "cw"):
        stream = packed(call, words[2:]) if letter in ("a", "u", "m") else ANYTHING
        if letter in ("m", "mf") or "-sdel" in flags or "-df" in flags:
            for word in words[2:]:
                call.deletes(word, "recursive")
        if "-si" in flags:
            stream = Stream(None, stream.taint | call.stdin.taint, stream.source)
        if "-so" in flags:
            return stream
        for word in archive:
            call.writes(word, content=stream)
        return NOTHING
    call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"{call.name} {letter}")
    return ANYTHING
