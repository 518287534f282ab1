"""Archives and compressed files: what goes in, where it comes out, what runs on the way."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, DECODED, NETWORK, NOTHING, SECRET, Arg, Stream, arg
from redoma.judge.interpret.places import place_of
from redoma.judge.programs.cards import card_of, card_words, options_of
from redoma.judge.programs.options import split
from redoma.model.decision import Effect, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_LETTERS_TAKING = "fCXTIbgVNKFLH"
_TREES = (Place.ROOT, Place.HOME_ROOT, Place.SYSTEM_TREE)


def tar(call: Invocation) -> Stream:
    """`tar`: lists, packs or unpacks; some of its options run programs."""
    given = (*_from_variables(call), *_with_dashes(call.args))
    words = [_whole(word, card_of(call)["known"]) for word in given]
    options = options_of(call, words)
    _run_helpers(call, options)
    archive = options.value("-f", "--file")
    for word in options.values("--index-file", "--volno-file"):
        call.writes(word)
    if options.has("--delete") and archive is not None:
        call.writes(archive)
        return NOTHING
    if options.has("-t", "--list", "-d", "--diff", "--compare", "--test-label"):
        return _opened(call, archive)
    if options.has("-x", "--extract", "--get"):
        return _unpack(call, options, archive)
    if options.has(
        "-c", "--create", "-r", "--append", "-u", "--update", "-A", "--catenate", "--concatenate"
    ):
        return _pack(call, options, archive)
    if options.given:
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="tar")
    return ANYTHING


def _from_variables(call: Invocation) -> list[Arg]:
    """Attack: TAR_OPTIONS and TAPE say what the command line does not."""
    out: list[Arg] = []
    for name, option in (("TAR_OPTIONS", ""), ("TAPE", "--file=")):
        value = call.environment.get(name)
        if value is None and name in call.state.exported:
            value = call.state.variables.get(name)
        if value:
            pieces = value.split() if not option else [f"{option}{value}"]
            out.extend(arg(piece, value.span, value.taint) for piece in pieces)
    return out


def _whole(word: Arg, known: frozenset[str]) -> Arg:
    """GNU reads any unambiguous beginning of a long option: `--cr` is `--create`."""
    name, equals, value = word.partition("=")
    if not word.startswith("--") or len(name) < 4 or name in known:
        return word
    meant = [each for each in known if each.startswith(name)]
    return word.like(f"{meant[0]}{equals}{value}") if len(meant) == 1 else word


def _with_dashes(words: list[Arg]) -> list[Arg]:
    """`tar xzf a.tgz` as `tar -x -z -f a.tgz`: old-style letters take their values in order."""
    if not words or words[0].startswith("-") or not words[0].isalpha() or len(words[0]) > 12:
        return list(words)
    letters, rest = words[0], list(words[1:])
    out: list[Arg] = []
    for letter in letters:
        out.append(words[0].like(f"-{letter}"))
        if letter in _LETTERS_TAKING and rest:
            out.append(rest.pop(0))
    return [*out, *rest]


def _run_helpers(call: Invocation, options: ProgramOptions) -> None:
    for text in options.values(*card_words(call, "runs")):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=text.span)
        call.run_shell(text, stdin=Stream(None, call.stdin.taint | DECODED, "archive"))
    for action in options.values("--checkpoint-action"):
        kind, _, command = action.partition("=")
        if kind == "exec":
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=action.span)
            call.run_shell(action.like(command))


def _remote(archive: Arg | None) -> bool:
    """`host:path` is a tape on another machine."""
    if archive is None or ":" not in archive:
        return False
    host = archive.partition(":")[0]
    return "/" not in host and len(host) > 1


def _opened(call: Invocation, archive: Arg | None) -> Stream:
    if archive is None or archive == "-":
        return call.stdin.passed_through()
    if _remote(archive):
        call.host(archive, "download")
        return Stream(None, NETWORK, str(archive))
    return call.reads(archive).passed_through()


def _unpack(call: Invocation, options: ProgramOptions, archive: Arg | None) -> Stream:
    stream = _opened(call, archive)
    taint = (stream.taint & NETWORK) | DECODED
    if options.has("-O", "--to-stdout", "--to-command"):
        return Stream(None, stream.taint | DECODED, stream.source or str(archive or ""))
    target = options.value("-C", "--directory")
    if target is None:
        call.fact(Effect.WRITES, tags=("project", "unpacked"))
        target = arg(".", call.word.span)
    else:
        unpacks_into(call, target)
    if options.has("-P", "--absolute-names"):
        call.fact(Effect.WRITES, tags=("anywhere",))
    call.walker.files.put(call.path(target).rstrip("/") + "/", Stream(None, taint, stream.source))
    return NOTHING


def unpacks_into(call: Invocation, target: Arg) -> None:
    """An archive decides itself what it overwrites there."""
    place, marks = call.written_target(target)
    if place.place is Place.WORKSPACE:
        call.fact(Effect.WRITES, place, tags=("unpacked",), at=target.span)
        return
    tags = ("unpacked", "recursive") if place.place is Place.ROOT else ("unpacked",)
    if place.place is not Place.NOWHERE:
        call.fact(Effect.WRITES, place, tags=(*tags, *marks), at=target.span)


def _pack(call: Invocation, options: ProgramOptions, archive: Arg | None) -> Stream:
    inside = options.value("-C", "--directory")
    stream = packed(call, options.operands, inside)
    for listed in options.values("-T", "--files-from", "-X", "--exclude-from"):
        call.reads(listed)
    if options.has("--remove-files"):
        for word in options.operands:
            call.deletes(word, "recursive")
    if archive is None or archive in ("-", "/dev/stdout"):
        return stream
    if _remote(archive):
        call.sends(stream.taint, archive)
    else:
        call.writes(archive, content=stream)
    return NOTHING


def packed(call: Invocation, words: list[Arg], inside: Arg | None = None) -> Stream:
    """What lies in an archive of these: whole homes hold secrets, though no name says so."""
    taint = 0
    for word in words:
        if word == "-":
            taint |= call.stdin.taint
            continue
        named = word
        if inside is not None and not word.startswith("/"):
            named = word.like(f"{inside}/{word}")
        taint |= call.reads(named).taint
        path = call.path(named)
        if place_of(path, call.walker.ground) in _TREES:
            taint |= SECRET
        below = path.rstrip("/*") + "/"
        for held, stream in call.walker.files.by_path.items():
            if held.startswith(below):
                taint |= stream.taint
    return Stream(None, taint, str(words[0]) if words else "archive")


def cpio(call: Invocation) -> Stream:
    """`cpio`, `pax`: `-i` unpacks, `-o` packs, `-p` copies, `-t` lists."""
    options = options_of(call)
    for text in options.values("--rsh-command"):
        call.run_shell(text)
    if options.has("-t", "--list"):
        return ANYTHING
    if call.name == "pax" and options.has("-w"):
        stream = packed(call, options.operands)
        out = _pax_archive(call)
        if out is not None:
            call.writes(out, content=stream)
        return stream
    target = options.value("-D", "--directory")
    if options.has("-i", "--extract", "-r"):
        if target is not None:
            unpacks_into(call, target)
        else:
            call.fact(Effect.WRITES, tags=("project", "unpacked"))
        return NOTHING
    if options.has("-p", "--pass-through"):
        for word in options.operands:
            call.writes(word, "recursive")
        return NOTHING
    out = options.value("-O", "-F", "--file")
    if out is not None:
        call.writes(out)
        return NOTHING
    return call.stdin.passed_through()


def _pax_archive(call: Invocation) -> Arg | None:
    """`pax -w -f FILE`: for `cpio` the same letter is a switch."""
    return split(call.args, frozenset("-f -b -x -o -s -B -E -G -T -U".split())).value("-f")


def ar(call: Invocation) -> Stream:
    """`ar`: `t` and `p` look, the rest changes the archive or unpacks it."""
    words = [w for w in call.args if not w.startswith("--")]
    letters = words[0].lstrip("-") if words else ""
    if letters[:1] in ("t", "p"):
        for word in words[1:2]:
            call.reads(word)
    elif letters[:1] == "x":
        call.fact(Effect.WRITES, tags=("project", "unpacked"))
    else:
        for word in words[1:2]:
            call.writes(word)
    return ANYTHING


def squeeze(call: Invocation) -> Stream:
    """One file in, one file out, the first one gone; to standard output it only reads."""
    options = options_of(call)
    does = card_words(call, "does")
    unpacks = not does.isdisjoint(("unpacks", "shows")) or options.has(
        "-d", "--decompress", "--uncompress", "-t", "--test", "-l", "--list"
    )
    taint = DECODED if unpacks else 0
    if options.has("-t", "--test", "-l", "--list"):
        for word in options.operands:
            call.reads(word)
        return ANYTHING
    output = options.value("-o", "--output")
    shows = "shows" in does or options.has("-c", "--stdout", "--to-stdout") or not options.operands
    streams = [call.reads(w) if w != "-" else call.stdin for w in options.operands] or [call.stdin]
    made = call.passes_on(*streams)
    made = Stream(None, made.taint | taint, made.source or call.name)
    if output is not None and output != "-":
        call.writes(output, content=made)
        return NOTHING
    if (shows and output is None) or output == "-":
        return made
    keeps = options.has("-k", "--keep") or "keeps" in does
    ending = next(iter(card_words(call, "ending")), ".gz")
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


def zip_(call: Invocation) -> Stream:
    """`zip`: packs; `-T -TT COMMAND` runs a command to test, `-m` removes what it packed."""
    options = options_of(call, _spread(call))
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


def _spread(call: Invocation) -> list[Arg]:
    """`-rm` is `-r -m`; only some pairs of letters are one option."""
    out: list[Arg] = []
    takes, pairs = card_of(call)["takes"], card_words(call, "pairs")
    for word in call.args:
        bundle = word[:1] == "-" and word[1:].isalpha() and len(word) > 2
        if bundle and word not in pairs and word[:2] not in takes:
            out.extend(word.like(f"-{letter}") for letter in word[1:])
        else:
            out.append(word)
    return out


def unzip(call: Invocation) -> Stream:
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


def seven(call: Invocation) -> Stream:
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
