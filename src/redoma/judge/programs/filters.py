"""Listings and filters, whose output is told when their input is known: `… | base64 -d | sh`."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, DECODED, NAMES, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.interpret.places import place_of
from redoma.judge.interpret.sensitive import is_secret
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.judge.text.glob import has_glob
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.interpret.invocation import Invocation

LONGEST = 16384
_NONE: frozenset[str] = frozenset()


def gathered(call: Invocation, words: list[Arg]) -> Stream:
    """What a filter reads: the named files, or its own input without any."""
    if not words:
        return call.stdin
    streams = [call.stdin if word == "-" else call.reads(word) for word in words]
    if len(streams) == 1:
        return streams[0]
    taint = 0
    for stream in streams:
        taint |= stream.taint
    texts = [stream.text for stream in streams]
    known = [text for text in texts if text is not None]
    text = "".join(known) if len(known) == len(texts) else None
    return Stream(text, taint, next((s.source for s in streams if s.source), ""))


def changed(
    call: Invocation, stream: Stream, change: Callable[[str], str | None], taint: int = 0
) -> Stream:
    """The filter's output: the text changed where it is known, every taint kept."""
    text = stream.text
    made: str | None = None
    if text is not None and UNKNOWN not in text and len(text) <= LONGEST:
        try:
            made = change(text)
        except (ValueError, ArithmeticError, LookupError):
            made = None
    for word in call.args:
        taint |= word.taint
    return Stream(made, stream.taint | taint, stream.source)


def cat(call: Invocation) -> Stream:
    """Passes files or its input on as they are."""
    options = options_of(call)
    stream = gathered(call, options.operands)
    if options.given and stream.text is not None and not options.has("-u"):
        return (
            Stream(None, stream.taint, stream.source) if options.has("-n", "-b", "-A") else stream
        )
    return stream


def head(call: Invocation) -> Stream:
    """`head` and `tail`: a part of the lines."""
    words = [w for w in call.args if not (w[:1] == "-" and w[1:].isdigit())]
    options = options_of(call, words)
    stream = gathered(call, [w for w in options.operands if not w.startswith("+")])
    count = 10
    for word in call.args:
        if word[:1] == "-" and word[1:].isdigit():
            count = int(word[1:6])
    given = options.value("-n", "--lines")
    if options.has("-c", "--bytes") or (given is not None and not given.lstrip("+").isdigit()):
        return changed(call, stream, lambda _: None)
    from_start = given is not None and given.startswith("+")
    if given is not None:
        count = int(given.lstrip("+")[:6])

    def lines(text: str) -> str:
        whole = text.splitlines(keepends=True)
        if call.name.endswith("head"):
            return "".join(whole[:count])
        return "".join(
            whole[max(count - 1, 0) :] if from_start else whole[-count:] if count else []
        )

    return changed(call, stream, lines)


def tac(call: Invocation) -> Stream:
    options = options_of(call)
    return changed(
        call, gathered(call, options.operands), lambda t: "".join(t.splitlines(keepends=True)[::-1])
    )


def rev(call: Invocation) -> Stream:
    stream = gathered(call, options_of(call).operands)
    return changed(call, stream, lambda t: "\n".join(line[::-1] for line in t.split("\n")))


def uniq(call: Invocation) -> Stream:
    """`uniq IN OUT` writes its second operand."""
    operands = [w for w in options_of(call).operands if not w.startswith("+")]
    stream = gathered(call, operands[:1])
    for word in operands[1:2]:
        call.writes(word, content=Stream(None, stream.taint))
    return stream.passed_through()


def tr(call: Invocation) -> Stream:
    """`tr`: letters for letters; rot13 and its like are undone."""
    options = options_of(call)
    sets = [_letters(str(word)) for word in options.operands[:2]]

    def translated(text: str) -> str | None:
        if options.has("-c", "-C", "--complement", "-s", "--squeeze-repeats") or not sets:
            return None
        if options.has("-d", "--delete"):
            return text.translate({ord(c): None for c in sets[0]})
        if len(sets) < 2 or not sets[1]:
            return None
        source, target = sets
        target = target + target[-1] * max(0, len(source) - len(target))
        return text.translate({ord(a): b for a, b in zip(source, target, strict=False)})

    return changed(call, call.stdin, translated)


_CLASSES = {
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\r\v\f",
    "[:blank:]": " \t",
}


def _letters(given: str) -> str:
    from redoma.judge.interpret.formats import unescaped

    for name, letters in _CLASSES.items():
        given = given.replace(name, letters)
    given = unescaped(given)[:512]
    out: list[str] = []
    index = 0
    while index < len(given):
        if index + 2 < len(given) and given[index + 1] == "-" and given[index] <= given[index + 2]:
            first, last = ord(given[index]), ord(given[index + 2])
            out.extend(chr(code) for code in range(first, min(last, first + 512) + 1))
            index += 3
        else:
            out.append(given[index])
            index += 1
    return "".join(out)


_BASE_TAKES = frozenset("-w --wrap -b --break -o --output".split())


def base64(call: Invocation) -> Stream:
    """`base64`, `base32`: encodes, or gives back what was hidden."""
    takes = _BASE_TAKES | ({"-i", "--input"} if _is_bsd(call.args) else set())
    options = split(call.args, takes)
    operands = list(options.operands)
    stream = gathered(call, [*options.values("-i", "--input"), *operands][:1])
    decodes = options.has("-d", "-D", "--decode")
    output = options.value("-o", "--output")
    made = changed(
        call, stream, lambda t: decoded(call.name, t) if decodes else encoded(call.name, t)
    )
    made = Stream(made.text, made.taint | (DECODED if decodes else 0), made.source)
    if output is not None:
        call.writes(output, content=made)
    return made


def basenc(call: Invocation) -> Stream:
    """`basenc --base64 -d`: as the program of that name."""
    named = next((w[2:8] for w in call.args if w.startswith(("--base64", "--base32"))), "")
    call.name = named if named in ("base64", "base32") else "basenc"
    return base64(call)


def _is_bsd(words: list[Arg]) -> bool:
    return any(word.startswith(("-o", "--input", "--output")) for word in words)


def decoded(name: str, text: str) -> str:
    """What `base64 -d` and its kin make of a text."""
    import base64 as codec

    compact = "".join(text.split())
    if name == "basenc":
        return bytes.fromhex(compact).decode("utf-8", "replace").replace(UNKNOWN, "\ufffd")
    if name.endswith("base32"):
        raw = codec.b32decode(compact + "=" * (-len(compact) % 8), casefold=True)
    else:
        kept = "".join(c for c in compact if c.isalnum() or c in "+/-_").translate({45: 43, 95: 47})
        raw = codec.b64decode(kept + "=" * (-len(kept) % 4))
    return raw.decode("utf-8", "replace").replace(UNKNOWN, "\ufffd")


def encoded(name: str, text: str) -> str:
    """What `base64` and its kin make of a text."""
    import base64 as codec

    encode = codec.b32encode if name.endswith("base32") else codec.b64encode
    return encode(text.encode("utf-8", "replace")).decode("ascii") + "\n"


def xxd(call: Invocation) -> Stream:
    """`xxd -r` makes bytes of digits again; its second operand is written."""
    options = options_of(call)
    back = options.has("-r", "-revert") or any(w in ("-rp", "-pr") for w in call.args)
    plain = options.has("-p", "-ps", "-postscript", "-plain", "-rp", "-pr")
    operands = options.operands
    stream = gathered(call, operands[:1])

    def bytes_again(text: str) -> str | None:
        if not (back and plain):
            return None
        digits = "".join(c for c in text if c in "0123456789abcdefABCDEF")
        raw = bytes.fromhex(digits[: len(digits) // 2 * 2])
        return raw.decode("utf-8", "replace").replace(UNKNOWN, "\ufffd")

    made = changed(call, stream, bytes_again, DECODED if back else 0)
    for word in operands[1:2]:
        call.writes(word, content=made)
    return made


def tee(call: Invocation) -> Stream:
    """`tee`: what flows through also lands in files."""
    options = options_of(call)
    append = options.has("-a", "--append")
    marks = ["append" if append else "overwrite"]
    if call.stdin.taint & SECRET:
        marks.append("secret")
    for word in options.operands:
        call.writes(word, *marks)
        call.walker.files.put(call.path(word), call.stdin, append=append)
    return call.stdin


def ps(call: Invocation) -> Stream:
    """`ps`: the letter e without a dash shows every process's environment."""
    for word in call.args:
        old_style = word[:1] != "-" and word.isalpha() and "e" in word
        if old_style or (word.startswith("-o") and "environ" in word):
            target = Target(text="environment", place=Place.SECRET)
            call.fact(Effect.SECRETS, target, tags=("environment",), at=word.span)
            return Stream(None, SECRET, "environment")
        if word in ("-o", "-O", "-C", "-p", "-u", "-U", "-G", "-g", "-t", "--sort", "--ppid"):
            break
    return ANYTHING


def as_builtin(call: Invocation) -> Stream:
    """`/bin/echo`, `/usr/bin/printf`: the same as the shell's own."""
    from redoma.judge.interpret.builtins import BUILTINS

    return BUILTINS[call.name](call)


def through(call: Invocation) -> Stream:
    """Passes its input on unchanged while showing how much there was (`pv`)."""
    options = options_of(call)
    return gathered(call, options.operands)


_OURS = (Place.WORKSPACE, Place.TEMP, Place.REPOSITORY)


def look(call: Invocation) -> Stream:
    """Lists names; those of keys outside the project tell an attacker where to look next."""
    options = options_of(call)
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
