"""Editors, pagers and choosers: files they open, and the commands that their options carry."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NOTHING, UNKNOWN, Arg, Stream
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.files import makes
from redoma.judge.programs.options import split
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_VIM_TAKES = frozenset(
    "-c --cmd -S -s -l -u -U -i -w -W -T -t --startuptime --servername --remote-expr --remote-send "
    "--listen --server -q".split()
)
_BANG = re.compile(
    r"^(?:[%0-9,.$<>+\- ]|'[a-z<>])*?(?:(?:sil(?:ent)?!?|noautocmd|keepalt|verbose)\s+)*"
    r"(?:r(?:ead)?\s*|(?:w(?:rite)?|e(?:dit)?)\s+)?!(.*)$",
    re.DOTALL,
)
_SHELLING = re.compile(
    r"(?:term(?:inal)?|te(?:rminal)?|!|bo(?:tright)?\s+term\w*)\s+(.*)", re.DOTALL
)
_SYSTEM = re.compile(
    r"(?:system(?:list)?|termopen|job_start|jobstart)\(\s*(['\"])(.*?)\1", re.DOTALL
)
_CODE = re.compile(r"(py(?:thon)?[3x]?|lua|ruby|perl|tcl|mz(?:scheme)?)(?:do)?\s+(.+)", re.DOTALL)
_WRITE = re.compile(
    r"^[%0-9,.$]*\s*(?:w(?:rite)?|wq|x|xit|sav(?:eas)?|up(?:date)?)!?\s+(?:>>\s*)?([^!\s].*)$",
    re.DOTALL,
)
_LANGUAGES = {"lua": "lua", "ruby": "ruby", "perl": "perl"}


def vim(call: Invocation) -> Stream:
    """`vim`, `ex`, `vi`: opens files to change them; `-c`, `+` and scripts run commands."""
    plus = [w for w in call.args if w.startswith("+") and len(w) > 1]
    # After -e, and for `ex`, the letter s means silent and takes no file.
    silent = call.name == "ex" or any(w[:2] in ("-e", "-E") for w in call.args)
    takes = _VIM_TAKES - {"-s"} if silent else _VIM_TAKES
    options = split([w for w in call.args if w not in plus], takes)
    for word in options.values("-S", "-s", "-u", "-U", "-l"):
        if word not in ("NONE", "NORC", "DEFAULTS", "-"):
            call.executes_file(word, "vim")
    for text in [*options.values("-c", "--cmd", "--remote-expr", "--remote-send"), *plus]:
        ex_commands(call, text.like(text.removeprefix("+")))
    if (
        call.name in ("ex", "vi", "vim", "nvim")
        and call.stdin.text
        and options.has("-e", "-E", "-s")
    ):
        ex_commands(call, call.word.like(call.stdin.text))
    if silent and call.stdin.text is None and (call.stdin.taint or call.stdin.source):
        call.executes_stream(call.stdin, "vim")
    if options.has("-W", "-w"):
        for word in options.values("-w", "-W"):
            call.writes(word)
    only_looks = call.name in ("view", "rview", "gview") or options.has("-R", "-M")
    return _opens(call, options.operands, only_looks=only_looks)


def _opens(call: Invocation, words: list[Arg], *, only_looks: bool) -> Stream:
    for word in words:
        if word == "-":
            continue
        if only_looks:
            call.reads(word)
        else:
            call.writes(word, "edit")
    if not words:
        call.fact(Effect.EXECUTES, tags=("editor",))
    return ANYTHING


def ex_commands(call: Invocation, text: Arg) -> None:
    """Notes what a line of ex commands does beyond moving about in the text."""
    for line in text.split("\n"):
        command = line.strip().lstrip(":").strip()
        if command:
            _ex_command(call, text.like(command))


def _ex_command(call: Invocation, command: Arg) -> None:
    bang = _BANG.match(command)
    if bang:
        call.fact(Effect.EXECUTES, tags=("flag",), at=command.span)
        call.run_shell(command.like(bang[1].strip() or UNKNOWN))
        return
    found = False
    for match in _SYSTEM.finditer(command):
        found = True
        call.fact(Effect.EXECUTES, tags=("flag",), at=command.span)
        call.run_shell(command.like(match[2]))
    code = _CODE.match(command)
    if code and not found:
        from redoma.judge.programs.knowledge import read_code

        language = _LANGUAGES.get(code[1], "python" if code[1].startswith("py") else code[1])
        read_code(call, language, command.like(code[2]))
        return
    for piece in command.split("|"):
        _ex_piece(call, command.like(piece.strip().lstrip(":")))


def _ex_piece(call: Invocation, piece: Arg) -> None:
    shelling = _SHELLING.match(piece)
    if shelling:
        call.fact(Effect.EXECUTES, tags=("flag",), at=piece.span)
        call.run_shell(piece.like(shelling[1]))
    elif re.match(
        r"(?:sh(?:ell)?|term(?:inal)?|exe(?:cute)?|so(?:urce)?|call)\b",
        piece,
    ):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=piece.span)
        if "!" in piece:
            call.run_shell(piece.like(piece.partition("!")[2].strip("'\" ")))
    else:
        wrote = _WRITE.match(piece)
        if wrote:
            call.writes(_at_home(call, piece.like(wrote[1].strip())))
        else:
            call.fact(Effect.EXECUTES, tags=("flag",), at=piece.span)


def _at_home(call: Invocation, word: Arg) -> Arg:
    """Editors read `~` themselves, whatever quotes the shell saw."""
    if word == "~" or word.startswith("~/"):
        return word.like(call.walker.ground.home + word[1:])
    return word


def ed(call: Invocation) -> Stream:
    """`ed`: the script that flows in may run commands with `!` and write files with `w`."""
    options = options_of(call)
    for word in options.operands:
        if word.startswith("!"):
            call.run_shell(word.like(word[1:]))
        else:
            call.writes(word, "edit")
    for line in (call.stdin.text or "").split("\n"):
        if "!" in line or re.match(r"[\d,$.]*\s*[wW]\s+\S", line):
            ex_commands(call, call.word.like(line))
    if call.stdin.text is None:
        if call.stdin.taint or call.stdin.source:
            call.executes_stream(call.stdin, "ed")
        call.fact(Effect.EXECUTES, tags=("editor",))
    return ANYTHING


_ELISP = re.compile(
    r'\((?:shell-command(?:-to-string)?|async-shell-command|compile|term|ansi-term)\s+"((?:[^"\\]++|\\.)*+)(?:"|\\?\Z)'
)
_PROCESS = re.compile(
    r"\((?:call-process|start-process|process-file|make-process|process-lines)\b([^()]*)"
)
_LISP_FILE = re.compile(
    r"\((delete-file|delete-directory|write-region|write-file|append-to-file|load-file|find-file)\b([^()]*)"
)
# A string that nothing closes reaches to the end, so that it is looked through once.
_LISP_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)(?:"|\\?\Z)')


def emacs(call: Invocation) -> Stream:
    """`emacs`: `--eval` is Lisp that may call a shell, delete and write."""
    options = options_of(call)
    runs = ("--eval", "-eval", "--execute", "-execute", "-e")
    texts = options.values(*runs)
    if call.name == "emacsclient" and options.has("-e"):
        texts = [*texts, *options.operands]
        options.operands.clear()
    for text in texts:
        _lisp(call, text)
    for word in options.values("-l", "--load", "-load", "--script", "-script", "-x"):
        call.executes_file(word, "lisp")
    for name in options.values("-f", "--funcall", "-funcall"):
        call.fact(Effect.EXECUTES, tags=("arbitrary",), at=name.span)
    if texts or options.has("--batch", "-batch", "--script"):
        return ANYTHING
    return _opens(call, [w for w in options.operands if not w.startswith("+")], only_looks=False)


def _lisp(call: Invocation, text: Arg) -> None:
    call.fact(Effect.EXECUTES, tags=("arbitrary",), at=text.span, detail="lisp")
    for match in _ELISP.finditer(text):
        call.run_shell(text.like(_unquoted(match[1])))
    for match in _PROCESS.finditer(text):
        words = [text.like(_unquoted(s)) for s in _LISP_STRING.findall(match[1])]
        if words:
            call.run_args(words)
    for match in _LISP_FILE.finditer(text):
        for found in _LISP_STRING.findall(match[2])[:1]:
            name = _at_home(call, text.like(found))
            if match[1].startswith("delete"):
                call.deletes(name, *(("recursive",) if "directory" in match[1] else ()))
            elif match[1] not in ("load-file", "find-file"):
                call.writes(name)


def _unquoted(text: str) -> str:
    return text.replace('\\"', '"').replace("\\\\", "\\")


def plain_editor(call: Invocation) -> Stream:
    """`nano`, `micro` and other editors that open a file to change it."""
    options = options_of(call)
    for program in options.values("-s", "--speller"):
        call.run_shell(program)
    words = [w for w in options.operands if not w.startswith("+")]
    return _opens(call, words, only_looks=options.has("-v", "--view"))


def pager(call: Invocation) -> Stream:
    """`less`, `more`, `bat`: show files; a few options write or run something."""
    plus = [w for w in call.args if w.startswith("+") and len(w) > 1]
    options = options_of(call, [w for w in call.args if w not in plus])
    for text in plus:
        for command in text.split("\n"):
            inner = command.lstrip("+")
            if inner.startswith(("!", "|", "s ")):
                call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
                call.run_shell(text.like(inner[1:].strip()))
            elif inner.startswith((":e", "v", "E")):
                call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
    if call.name == "less":
        for word in options.values("-o", "-O", "--log-file", "--LOG-FILE"):
            call.writes(word)
    for word in options.values("--lesskey-content", "--pager"):
        call.fact(Effect.EXECUTES, tags=("flag",), at=word.span)
        if not word.startswith("less"):
            call.run_shell(word)
    for word in options.values("-k", "--lesskey-file", "--lesskey-src"):
        call.reads(word)
    words = options.operands
    if call.name in ("bat", "batcat") and words[:1] == ["cache"]:
        call.fact(Effect.WRITES, tags=("cache",))
        return NOTHING
    streams = [call.reads(w) for w in words if w != "-"] or [call.stdin]
    return call.passes_on(*streams) if len(streams) != 1 else streams[0]


_RUNS = ("execute", "execute-silent", "execute-multi", "become")
_ASKS = ("reload", "reload-sync", "preview", "change-preview", "transform", "bg-transform")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def fzf(call: Invocation) -> Stream:
    """`fzf`: a list to choose from; what previews and keys run is judged by itself."""
    options = options_of(call, [*_from_variables(call), *call.args])
    for text in options.values("--preview", "--info-command"):
        call.run_shell(_filled(text))
    for text in options.values("--bind"):
        for name, command in bound(text):
            if name.startswith(_RUNS):
                call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
            call.run_shell(_filled(text.like(command)))
    for text in options.values("--with-shell"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=text.span)
        call.run_shell(text)
    if options.has("--listen-unsafe"):
        call.fact(Effect.NETWORK, tags=("listen", "unsafe"))
    elif options.has("--listen") and not _only_here(options.value("--listen")):
        call.fact(Effect.NETWORK, tags=("listen",))
    for name in options.values("--history"):
        makes(call, name)
    for name in options.values(
        "--profile-cpu", "--profile-mem", "--profile-block", "--profile-mutex"
    ):
        call.writes(name)
    return call.stdin.passed_through()


def _from_variables(call: Invocation) -> list[Arg]:
    """Attack: FZF_DEFAULT_OPTS carries previews and keys that the command line does not show."""
    out: list[Arg] = []
    for name in ("FZF_DEFAULT_OPTS", "FZF_DEFAULT_OPTS_FILE"):
        value = call.environment.get(name)
        if value is None and name in call.state.exported:
            value = call.state.variables.get(name)
        if not value:
            continue
        if name.endswith("FILE"):
            call.reads(value)
            call.fact(Effect.UNKNOWN, tags=("subcommand",), at=value.span, detail=name)
            continue
        import shlex

        try:
            pieces = shlex.split(value)
        except ValueError:
            pieces = value.split()
        out.extend(value.like(piece) for piece in pieces)
    return out


def _only_here(address: Arg | None) -> bool:
    """Without a host `fzf` listens on this machine only, and runs no programs for others."""
    if address is None or ":" not in address:
        return True
    return address.partition(":")[0] in ("localhost", "127.0.0.1", "")


def bound(text: str) -> list[tuple[str, str]]:
    """The actions of a `--bind` value that carry a command: (action, command)."""
    out: list[tuple[str, str]] = []
    index = 0
    for action in sorted((*_RUNS, *_ASKS), key=len, reverse=True):
        index = text.find(action)
        while index != -1:
            end = index + len(action)
            while end < len(text) and (text[end].isalpha() or text[end] == "-"):
                end += 1
            if end < len(text) and (index == 0 or text[index - 1] in ":+,- "):
                command = _command(text, end)
                if command and not any(command == known for _, known in out):
                    out.append((text[index:end], command))
            index = text.find(action, end)
    return out


def _command(text: str, at: int) -> str:
    opening = text[at]
    if opening == ":":
        return text[at + 1 :].replace("\\ ", " ")
    if opening in "+,":
        return ""
    closing = _CLOSING.get(opening, opening)
    end = text.rfind(closing + "+", at + 1)
    for stop in (text.find(closing + "+", at + 1), text.find(closing + ",", at + 1), end):
        if stop != -1:
            return text[at + 1 : stop]
    stop = text.rfind(closing)
    return text[at + 1 : stop] if stop > at else text[at + 1 :]


def _filled(text: Arg) -> Arg:
    """Placeholders stand for what will be chosen, which nobody knows yet."""
    import re

    return text.like(
        re.sub(r"\{[+*sfrn]*(?:q|n|\d*(?:\.\.\d*)?(?:,\d+)*)(?::\d)?\}", "$__chosen", text)
    )
