"""`tar` and other archivers: what goes in, where it comes out, and what they run on the way."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, DECODED, NETWORK, NOTHING, SECRET, Arg, Stream, arg
from redoma.judge.interpret.paths import place_of
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.risk import Effect, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

_LETTERS_TAKING = "fCXTIbgVNKFLH"
_TAKES = frozenset(
    "-f --file -C --directory -X --exclude-from -T --files-from -I "
    "--use-compress-program -b --blocking-factor -g --listed-incremental -V --label -N "
    "--newer --after-date -K --starting-file -F --info-script --new-volume-script -L "
    "--tape-length -H --format --exclude --exclude-tag --transform --xform "
    "--strip-components --owner --group --mode --mtime --to-command --checkpoint-action "
    "--rsh-command --rmt-command --record-size --sort --pax-option --suffix --warning "
    "--quoting-style --index-file --volno-file --newer-mtime --level --add-file "
    "--hole-detection --sparse-version --xattrs-include --xattrs-exclude --clamp".split()
)
_KNOWN = frozenset(
    "--create --extract --get --list --append --update --catenate --concatenate --diff "
    "--compare --delete --test-label --gzip --bzip2 --xz --zstd --lzma --verbose "
    "--keep-old-files --overwrite --remove-files --preserve-permissions --absolute-names "
    "--to-stdout --checkpoint --no-same-owner --dereference --recursion "
    "--one-file-system --auto-compress --force-local --unlink-first --recursive-unlink "
    "--null --wildcards --no-recursion".split()
)
_RUNNING = (
    "-I --use-compress-program --to-command -F --info-script --new-volume-script --rsh-command "
    "--rmt-command".split()
)
_TREES = (Place.ROOT, Place.HOME_ROOT, Place.SYSTEM_TREE)


def tar(call: Call) -> Stream:
    """`tar`: lists, packs or unpacks; some of its options run programs."""
    words = [_whole(word) for word in (*_from_variables(call), *_with_dashes(call.args))]
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


def _from_variables(call: Call) -> list[Arg]:
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


def _whole(word: Arg) -> Arg:
    """GNU reads any unambiguous beginning of a long option: `--cr` is `--create`."""
    name, equals, value = word.partition("=")
    if not word.startswith("--") or len(name) < 4 or name in _TAKES or name in _KNOWN:
        return word
    meant = [each for each in (*_TAKES, *_KNOWN) if each.startswith(name)]
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


def _run_helpers(call: Call, options: Options) -> None:
    for text in options.values(*_RUNNING):
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


def _opened(call: Call, archive: Arg | None) -> Stream:
    if archive is None or archive == "-":
        return call.stdin.passed_through()
    if _remote(archive):
        call.host(archive, "download")
        return Stream(None, NETWORK, str(archive))
    return call.reads(archive).passed_through()


def _unpack(call: Call, options: Options, archive: Arg | None) -> Stream:
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


def unpacks_into(call: Call, target: Arg) -> None:
    """An archive decides itself what it overwrites there."""
    place, marks = call.written_target(target)
    if place.place is Place.WORKSPACE:
        call.fact(Effect.WRITES, place, tags=("unpacked",), at=target.span)
        return
    tags = ("unpacked", "recursive") if place.place is Place.ROOT else ("unpacked",)
    if place.place is not Place.NOWHERE:
        call.fact(Effect.WRITES, place, tags=(*tags, *marks), at=target.span)


def _pack(call: Call, options: Options, archive: Arg | None) -> Stream:
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


def packed(call: Call, words: list[Arg], inside: Arg | None = None) -> Stream:
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


def cpio(call: Call) -> Stream:
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


def _pax_archive(call: Call) -> Arg | None:
    """`pax -w -f FILE`: for `cpio` the same letter is a switch."""
    return split(call.args, frozenset("-f -b -x -o -s -B -E -G -T -U".split())).value("-f")


def ar(call: Call) -> Stream:
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
