"""`sed` and `awk`: their scripts are read for what they write, run and contact."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NOTHING, UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.cards import options_of
from redoma.judge.text.budget import spend
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_TO_LINE_END = "rRwWe"
_LABEL_END = re.compile(r"[;\n}]")
_TEXT = "aic"
_PLAIN = "=dDgGhHnNpPxzF{}"


def sed(call: Invocation) -> Stream:
    """`sed`: a script that may write files (`w`), run commands (`e`, `s///e`) or edit in place."""
    options = options_of(call)
    in_place = options.has("-i", "--in-place", "-I")
    operands = list(options.operands)
    if in_place and operands and operands[0] == "":
        operands.pop(0)  # BSD: `sed -i '' …`
    scripts = options.values("-e", "--expression")
    files = options.values("-f", "--file")
    for script in call.scripts_in(files, "sed"):
        _script(call, script)
    if not scripts and not files and operands:
        scripts = [operands.pop(0)]
    if not options.has("--sandbox"):
        for script in scripts:
            _script(call, script)
    streams = [call.stdin] if not operands else []
    for word in operands:
        streams.append(call.reads(word) if word != "-" else call.stdin)
        if in_place:
            call.writes(word, "edit")
    if in_place:
        if not operands:
            call.fact(Effect.WRITES, tags=("project", "edit"))
        return NOTHING
    return call.passes_on(*streams)


def _script(call: Invocation, script: Arg) -> None:
    text = str(script)
    index = 0
    for _ in range(len(text) + 1):
        index = _skip(text, index)
        if index >= len(text):
            return
        following = _one(call, script, text, index)
        if following <= index:
            call.fact(Effect.UNKNOWN, tags=("subcommand",), at=script.span, detail="sed script")
            return
        index = following


def _skip(text: str, index: int) -> int:
    """Past blanks, separators and addresses to the next command."""
    while index < len(text):
        char = text[index]
        if char in " \t\n;,!~+0123456789$":
            index += 1
        elif char == "/":
            index = _past(text, index + 1, "/")
        elif char == "\\" and index + 1 < len(text):
            index = _past(text, index + 2, text[index + 1])
        elif char in "IM" and index and text[index - 1] not in " \t\n;{}":
            index += 1
        else:
            return index
    return index


def _past(text: str, index: int, end: str) -> int:
    """The place after the next unescaped `end`; brackets protect it."""
    closing = 0
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 2
            continue
        if char == "[" and end != "[" and closing >= 0:
            closing = text.find("]", index + 2)
            if closing > 0 and end in text[index + 1 : closing]:
                index = closing
        elif char == end:
            return index + 1
        index += 1
    return len(text) + 1


def _one(call: Invocation, script: Arg, text: str, index: int) -> int:
    """Reads one command; gives the place after it, or the same place for one it does not know."""
    command = text[index]
    if command == "#":
        return _line_end(text, index)
    if command in _PLAIN:
        return index + 1
    if command in "qQlL":
        return index + 1
    if command == "s":
        return _substitute(call, script, text, index)
    if command == "y" and index + 1 < len(text):
        end = text[index + 1]
        return _past(text, _past(text, index + 2, end), end)
    if command in ":btTv":
        ends = _LABEL_END.search(text, index + 1)
        return ends.start() if ends else len(text)
    if command in _TEXT:
        return _text_end(text, index)
    if command in _TO_LINE_END:
        end_ = _line_end(text, index)
        _file_or_command(call, script, command, text[index + 1 : end_].strip())
        return end_
    return index


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end == -1 else end + 1


def _text_end(text: str, index: int) -> int:
    while True:
        end = text.find("\n", index)
        if end == -1:
            return len(text)
        if text[end - 1] != "\\":
            return end + 1
        index = end + 1


def _file_or_command(call: Invocation, script: Arg, command: str, rest: str) -> None:
    if command == "e":
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=script.span)
        if rest:
            call.run_shell(script.like(rest))
        else:
            # Without a command, every line of the input is one.
            call.executes_stream(Stream(call.stdin.text, call.stdin.taint, call.stdin.source))
    elif rest:
        if command in "wW":
            call.writes(script.like(rest), content=call.stdin)
        else:
            call.reads(script.like(rest))


def _substitute(call: Invocation, script: Arg, text: str, index: int) -> int:
    if index + 1 >= len(text) or text[index + 1] in "\n\\":
        return index
    end = text[index + 1]
    middle = _past(text, index + 2, end)
    close = middle
    while close < len(text) and text[close] != end:
        close += 2 if text[close] == "\\" else 1
    if close >= len(text):
        return index
    replacement = text[middle:close]
    place = close + 1
    while place < len(text) and text[place] not in ";\n} ":
        flag = text[place]
        place += 1
        if flag == "w":
            stop = _line_end(text, place)
            _file_or_command(call, script, "w", text[place:stop].strip())
            return stop
        if flag == "e":
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=script.span)
            call.run_shell(script.like(replacement.replace("\\n", "\n").replace("\\", "")))
        elif flag not in "gpiImM0123456789":
            return index
    return place


_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\[\s\S])*"?)
    |(?P<name>@?[A-Za-z_]\w*)
    |(?P<number>\d+(?:\.\d*)?|\.\d+)
    |(?P<op>\|&|\|\||&&|>>|[=!<>]=|!~|\+\+|--|[-+*%^]=|[\s\S])""",
    re.VERBOSE,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]++|\\.|\[\^?+\]?+(?:[^\]\\\n]++|\\.)*+\])*+/")
_ENDS = frozenset((";", "}", "\n", "{"))
MOST_TOKENS = 4000


def awk(call: Invocation) -> Stream:
    """`awk`: `system()`, pipes and redirections inside the program are what it does."""
    options = options_of(call)
    operands = list(options.operands)
    programs = options.values("-e", "--source")
    files = options.values("-f", "--file", "-E", "--exec", "-i", "--include")
    if call.name in ("awk", "gawk"):
        _debugs(call, options)
    for word in options.values("-l", "--load"):
        call.fact(Effect.EXECUTES, tags=("library",), at=word.span)
    programs += call.scripts_in(files, "awk")
    if not programs and not files and operands:
        programs = [operands.pop(0)]
    known = dict(v.partition("=")[::2] for v in options.values("-v", "--assign"))
    for program in programs:
        AwkProgram(call, program, known).judge()
    streams = [call.stdin]
    for word in operands:
        if "=" not in word.partition("/")[0]:
            streams.append(call.reads(word))
    return call.passes_on(*streams)


_WRITING = (
    ("-o", "awkprof.out"),
    ("-p", "awkprof.out"),
    ("-d", "awkvars.out"),
    ("--pretty-print", "awkprof.out"),
    ("--profile", "awkprof.out"),
    ("--dump-variables", "awkvars.out"),
)


def _debugs(call: Invocation, options: ProgramOptions) -> None:
    """Options of gawk that write files beside the program, or stop in a debugger."""
    for name, usual in _WRITING:
        if options.has(name):
            value = options.value(name)
            call.writes(value if value is not None else call.word.like(usual))
    if options.has("-D", "--debug"):
        call.fact(Effect.EXECUTES, tags=("debugger",))


class AwkProgram:
    """One awk program as tokens: (kind, text)."""

    def __init__(self, call: Invocation, source: Arg, known: dict[str, str]) -> None:
        self.call = call
        self.source = source
        self.tokens = _tokens(str(source))
        self.values = dict(known)

    def judge(self) -> None:
        """Notes every command, file and host in the program."""
        printing = False
        depth = 0
        if len(self.tokens) >= MOST_TOKENS:
            self.call.fact(Effect.UNKNOWN, tags=("code",), at=self.source.span)
        for index, (kind, text) in enumerate(self.tokens):
            following = self.tokens[index + 1 : index + 40]
            if kind == "name":
                if text == "system":
                    self.run(self.text_of(following[1:], call=True))
                    self.whole_line(following)
                elif text in ("print", "printf"):
                    printing, depth = True, 0
                elif text == "getline" and following[:1] == [("op", "<")]:
                    self.reads(self.text_of(following[1:]))
                elif text == "@load":
                    self.call.fact(Effect.EXECUTES, tags=("library",), at=self.source.span)
                elif text == "@include":
                    name = self.text_of(following[:1] if following else [])
                    self.call.executes_file(self.source.like(name), "awk")
                elif following[:1] == [("op", "=")]:
                    self.values[text] = self.text_of(following[1:])
            elif kind == "op":
                depth += {"(": 1, ")": -1}.get(text, 0)
                if text in _ENDS:
                    printing = False
                elif text in ("|", "|&"):
                    self.pipe(index, following)
                elif text in (">", ">>") and printing and depth <= 0:
                    self.writes(self.text_of(following), self.printed(index))

    def whole_line(self, following: list[tuple[str, str]]) -> None:
        """`system($0)`: every line that flows in is a command."""
        text = self.call.stdin.text
        if text is not None and "".join(part for _, part in following[:4]) == "($0)":
            self.call.run_shell(self.source.like(text), stdin=ANYTHING)

    def printed(self, index: int) -> Stream:
        """What the `print` before a `>` prints, if that is plain text."""
        place = index
        while place and self.tokens[place - 1][1] not in ("print", "printf"):
            place -= 1
        text = self.text_of([*self.tokens[place:index], ("op", ";")]) if place < index else UNKNOWN
        taint = self.call.stdin.taint
        return Stream(None if UNKNOWN in text else f"{text}\n", taint, self.call.stdin.source)

    def text_of(self, tokens: list[tuple[str, str]], *, call: bool = False) -> str:
        """The text that an expression of strings and variables stands for, as far as known."""
        out: list[str] = []
        depth = 1 if call else 0
        for kind, text in tokens:
            if kind == "string":
                out.append(_unescaped(text.strip('"')))
            elif kind == "name":
                out.append(self.values.get(text, UNKNOWN))
            elif text == "(":
                depth += 1
            elif text == ")":
                depth -= 1
                if depth <= 0:
                    break
            elif text in (";", "}", "\n", "|", ",", "|&") and depth <= (1 if call else 0):
                break
            elif kind == "number":
                out.append(text)
            elif kind == "op":
                out.append(UNKNOWN)
        return "".join(out)

    def pipe(self, index: int, following: list[tuple[str, str]]) -> None:
        if following[:1] == [("name", "getline")]:
            before: list[tuple[str, str]] = []
            place = index - 1
            while place >= 0 and self.tokens[place][0] in ("string", "name"):
                if self.tokens[place][1] in ("while", "if", "print", "return"):
                    break
                before.insert(0, self.tokens[place])
                place -= 1
            self.run(self.text_of(before))
        else:
            self.run(self.text_of(following), fed=True)

    def run(self, text: str, *, fed: bool = False) -> None:
        if text.startswith(("/inet/", "/inet4/", "/inet6/")):
            host = text.split("/")[4:5]
            self.call.fact(Effect.NETWORK, tags=("reverse-shell",), at=self.source.span)
            self.call.host(self.source.like((host or ["?"])[0]), "raw")
            return
        self.call.fact(Effect.EXECUTES, tags=("flag",), at=self.source.span)
        given = self.call.stdin
        stdin = Stream(given.text, given.taint, given.source or "awk") if fed else None
        carried = given.taint if UNKNOWN in text or not text else 0
        code = arg(text or UNKNOWN, self.source.span, self.source.taint | carried)
        self.call.run_shell(code, stdin=stdin)

    def writes(self, text: str, printed: Stream) -> None:
        if text.startswith("/inet"):
            self.run(text)
        elif text not in ("-", ""):
            self.call.writes(self.source.like(text), "overwrite", content=printed)

    def reads(self, text: str) -> None:
        if text and text != "-":
            self.call.reads(self.source.like(text))


def _tokens(text: str) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    index = 0
    while index < len(text) and len(out) < MOST_TOKENS:
        if text[index] == "/" and (not out or _before_regex(out[-1])):
            spend(8 + (len(text) - index) // 8)
            regex = _REGEX.match(text, index)
            if regex:
                out.append(("regex", regex[0]))
                index = regex.end()
                continue
        match = _TOKEN.match(text, index)
        if match is None:
            break
        kind = match.lastgroup or "op"
        if kind != "space":
            out.append((kind, match[0]))
        index = match.end()
    return out


def _before_regex(token: tuple[str, str]) -> bool:
    kind, text = token
    if kind == "name":
        return text in ("print", "return", "case", "in")
    return kind == "op" and text not in (")", "]", "$")


def _unescaped(text: str) -> str:
    from redoma.judge.interpret.formats import unescaped

    return unescaped(text)
