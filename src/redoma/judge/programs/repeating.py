"""Programs that run a command again and again: `parallel`, `watch`, `entr` and their like."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, NOTHING, UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.cards import options_of
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_SEPARATORS = (":::", ":::+", "::::", "::::+")
_MARKS = ("{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}", "{#}", "{%}")
MOST_ITEMS = 64


def parallel(call: Call) -> Stream:
    """GNU `parallel`: the command for each word after `:::`, or for each line of its input."""
    words = list(call.args)
    cut = next((i for i, w in enumerate(words) if w in _SEPARATORS), len(words))
    options = options_of(call, words[:cut])
    command = list(options.operands)
    for name in options.values("--results", "--joblog"):
        call.writes(name)
    for login in options.values("-S", "--sshlogin"):
        if login != ":":
            call.host(login, "upload")
    for program in options.values("--compress-program", "--decompress-program"):
        call.run_shell(program)
    items = _items(call, words[cut:], options.values("-a", "--arg-file"))
    if not command:
        # Without a command every line is one.
        for item in items:
            call.fact(Effect.EXECUTES, tags=("flag",))
            call.run_shell(item)
        return ANYTHING
    last: Stream = ANYTHING
    if options.has("--pipe", "--pipepart", "--spreadstdin"):
        text = command[0].like(" ".join(command))
        return call.run_shell(text, stdin=Stream(None, call.stdin.taint, "pipe"))
    for item in items:
        last = _one(call, command, item, str(options.value("-I", "--replace") or "{}"))
    return last


def _items(call: Call, tail: list[Arg], files: list[Arg]) -> list[Arg]:
    from redoma.judge.programs.wrappers import incoming

    items: list[Arg] = []
    source = ""
    for word in tail:
        if word in _SEPARATORS:
            source = str(word)
        elif source.startswith("::::"):
            items.extend(incoming(call, call.reads(word), ending="\n"))
        else:
            items.append(word)
    for name in files:
        items.extend(incoming(call, call.reads(name), ending="\n"))
    if not tail and not files:
        text = call.stdin.text
        if text is not None and UNKNOWN not in text:
            lines = [line for line in text.split("\n") if line]
            items = [arg(line, call.word.span, call.stdin.taint) for line in lines]
        items = items or [arg(UNKNOWN, call.word.span, call.stdin.taint)]
    if len(items) > MOST_ITEMS:
        items = [*items[: MOST_ITEMS - 1], arg(UNKNOWN, call.word.span, items[-1].taint)]
    return items


def _one(call: Call, command: list[Arg], item: Arg, mark: str) -> Stream:
    """`parallel` hands its words, joined, to a shell."""
    marks = (mark, *_MARKS)
    filled: list[str] = []
    held = False
    for word in command:
        text = str(word)
        for each in marks:
            if each in text:
                text = text.replace(each, item)
                held = True
        filled.append(_quoted(text) if len(command) > 1 else text)
    if not held:
        filled.append(_quoted(str(item)))
    taint = item.taint
    for word in command:
        taint |= word.taint
    span = (command[0].span[0], command[-1].span[1])
    out = call.run_shell(arg(" ".join(filled), span, taint), stdin=NOTHING)
    return Stream(out.text, out.taint | taint, out.source)


def _quoted(text: str) -> str:
    plain = all(c.isalnum() or c in "-_./=:,@%+~{}\0*?[]$|&;<>()" for c in text)
    return text if plain and text else "'" + text.replace("'", "'\\''") + "'"


def watch(call: Call) -> Stream:
    """`watch`: its words joined are shell code; with `-x` they are a command."""
    options = options_of(call)
    words = options.operands
    if not words:
        return NOTHING
    if options.has("-x", "--exec"):
        return call.run_args(words)
    taint = 0
    for word in words:
        taint |= word.taint
    span = (words[0].span[0], words[-1].span[1])
    if len(words) > 1:
        # Joining loses the quotes; what the caller meant by them counts as well.
        call.run_args(words)
    return call.run_shell(arg(" ".join(words), span, taint))


def entr(call: Call) -> Stream:
    """`entr`: a command whenever a file changes; `/_` stands for the file."""
    options = options_of(call)
    words = options.operands
    if not words:
        return NOTHING
    if options.has("-s"):
        return call.run_shell(words[0])
    filled = [word.like(UNKNOWN) if word == "/_" else word for word in words]
    return call.run_args(filled, stdin=NOTHING)


def watchexec(call: Call) -> Stream:
    words = options_of(call).operands
    if not words:
        return NOTHING
    span = (words[0].span[0], words[-1].span[1])
    return call.run_shell(arg(" ".join(words), span))


def hyperfine(call: Call) -> Stream:
    """`hyperfine`: every operand is a command, and so are its preparations."""
    options = options_of(call)
    for name in options.values(
        "--export-asciidoc", "--export-csv", "--export-json", "--export-markdown"
    ):
        call.writes(name)
    for name in options.values("--output"):
        if name not in ("null", "pipe", "inherit"):
            call.writes(name)
    extra = (
        "-s",
        "--setup",
        "-p",
        "--prepare",
        "-C",
        "--conclude",
        "-c",
        "--cleanup",
        "--reference",
    )
    for text in [*options.values(*extra), *options.operands]:
        call.run_shell(text)
    return ANYTHING
