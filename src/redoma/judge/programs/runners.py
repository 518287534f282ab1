"""Programs that run another one inside something, or again and again."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NOTHING, UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation


def busybox(call: Invocation) -> Stream:
    """`busybox X`, `toybox X`, `coreutils --coreutils-prog=X`: the same as X."""
    words = list(call.args)
    if call.name == "coreutils" and words and words[0].startswith("--coreutils-prog="):
        return call.run_args([words[0].like(words[0].partition("=")[2]), *words[1:]])
    if not words or words[0] in ("--list", "--list-full", "--help", "--long"):
        return NOTHING
    if words[0] == "--install":
        for word in words[1:]:
            if not word.startswith("-"):
                call.writes(word, "recursive")
        call.fact(Effect.SYSTEM)
        return NOTHING
    if words[0].startswith("-"):
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"{call.name} {words[0]}")
        return ANYTHING
    if words[0] in ("httpd", "tftpd", "ftpd", "udhcpd"):
        call.fact(Effect.NETWORK, tags=("listen",))
        return ANYTHING
    return call.run_args(words)


def flock(call: Invocation) -> Stream:
    """`flock FILE COMMAND`, or `flock FILE -c 'shell code'`."""
    options = options_of(call)
    words = list(options.operands)
    for word in words[:1]:
        if not word.isdigit() and word.known:
            from redoma.judge.programs.files import makes

            makes(call, word)
    rest = words[1:]
    if rest[:1] in (["-c"], ["--command"]):
        return call.run_shell(rest[1]) if len(rest) > 1 else NOTHING
    return call.run_args(rest) if rest else NOTHING


_ARCHITECTURES = re.compile(
    r"x86_64|i[3-6]86|linux32|linux64|athlon|ppc\w*|s390x?|arm\w*|aarch64|mips\w*|sparc\w*|ia64|riscv\w*|uname26|parisc\w*|alpha\w*"
)


def setarch(call: Invocation) -> Stream:
    """`setarch [ARCH] COMMAND`."""
    options = split(call.args, frozenset(), stops=True)
    words = list(options.operands)
    if words and _ARCHITECTURES.fullmatch(words[0]):
        words = split(words[1:], frozenset(), stops=True).operands
    return call.run_args(words) if words else ANYTHING


def arch(call: Invocation) -> Stream:
    """`arch` alone names the machine; on a Mac it starts a command for another architecture."""
    words = options_of(call).operands
    return call.run_args(words) if words else ANYTHING


_AST_GREP = frozenset(("run", "scan", "test", "new", "lsp", "completions", "help", "docs"))


def ast_grep(call: Invocation) -> Stream:
    """`ast-grep`, also installed as `sg`: searches code; `-U` and `-i` rewrite it."""
    words = call.args
    if any(w in ("-U", "--update-all", "-i", "--interactive") for w in words) or words[:1] == [
        "new"
    ]:
        call.fact(Effect.WRITES, tags=("project",))
    elif words[:1] == ["lsp"]:
        call.fact(Effect.EXECUTES, tags=("flag",))
    return ANYTHING


def sg(call: Invocation) -> Stream:
    """`sg GROUP -c 'code'`: the code, with another group's rights."""
    words = [w for w in call.args if w not in ("-", "-l")]
    if words and (words[0].startswith("-") or words[0] in _AST_GREP):
        return ast_grep(call)
    rest = words[1:]
    if rest[:1] == ["-c"]:
        rest = rest[1:]
    if not rest:
        call.fact(Effect.PRIVILEGE)
        return ANYTHING
    return call.run_shell(rest[0].like(" ".join(rest)))


def runuser(call: Invocation) -> Stream:
    """`runuser -u USER -- COMMAND`, `runuser USER -c 'code'`: another user's rights."""
    takes = frozenset(
        "-u --user -c --command --session-command -g --group -G --supp-group -s --shell -w".split()
    )
    options = split(call.args, takes, stops=not any(w in ("-c", "--command") for w in call.args))
    call.fact(Effect.PRIVILEGE, at=call.word.span)
    for text in options.values("-c", "--command", "--session-command"):
        call.run_shell(text)
    if options.has("-u", "--user") and options.operands:
        return call.run_args(options.operands)
    return ANYTHING


def capsh(call: Invocation) -> Stream:
    """`capsh -- -c 'code'`: a shell with chosen capabilities."""
    words = list(call.args)
    asks = ("--print", "--decode", "--supports", "--has-")
    if "--" not in words and "==" not in words and any(w.startswith(asks) for w in words):
        return ANYTHING
    call.fact(Effect.PRIVILEGE)
    for mark in ("--", "=="):
        if mark in words:
            rest = words[words.index(mark) + 1 :]  # type: ignore[arg-type]
            return call.run_args([call.word.like("bash"), *rest])
    return ANYTHING


def systemd_run(call: Invocation) -> Stream:
    """`systemd-run COMMAND`: outside this session; with a timer it runs by itself later."""
    options = options_of(call)
    if any(name.startswith("--on-") for name in options.given):
        call.fact(Effect.PERSISTS)
    if options.has("--uid", "--gid", "-M", "--machine"):
        call.fact(Effect.PRIVILEGE)
    call.fact(Effect.SYSTEM, tags=("service",), detail="run")
    return call.run_args(options.operands) if options.operands else ANYTHING


def start_stop_daemon(call: Invocation) -> Stream:
    """`start-stop-daemon -S -x PROGRAM -- ARGUMENTS`."""
    options = options_of(call)
    if options.has("-K", "--stop"):
        call.fact(Effect.KILLS)
        return NOTHING
    call.fact(Effect.SYSTEM, tags=("service",), detail="start")
    program = options.value("-a", "--startas") or options.value("-x", "--exec")
    return call.run_args([program, *options.operands]) if program is not None else ANYTHING


_BWRAP_TWO = frozenset(
    "--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink --setenv --file "
    "--bind-data --ro-bind-data --chmod --bind-fd --ro-bind-fd --overlay".split()
)
_BWRAP_ONE = frozenset(
    "--args --uid --gid --hostname --chdir --unsetenv --lock-file --sync-fd --remount-ro "
    "--exec-label --file-label --proc --dev --tmpfs --mqueue --dir --seccomp "
    "--add-seccomp-fd --block-fd --userns-block-fd --info-fd --json-status-fd --cap-add "
    "--cap-drop --userns --userns2 --pidns --perms --size --argv0 --overlay-src "
    "--tmp-overlay --ro-overlay".split()
)


def bwrap(call: Invocation) -> Stream:
    """`bwrap`: a namespace around a command; what it may do is judged as if it were not there."""
    words = list(call.args)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        del words[: 2 if word in _BWRAP_TWO else 1 if word in _BWRAP_ONE else 0]
    return call.run_args(words) if words else ANYTHING


def firejail(call: Invocation) -> Stream:
    """`firejail COMMAND`; `--list` and its like only look."""
    words = list(call.args)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "-c" and words:
            return call.run_shell(words[0])
        if word == "--":
            break
        if word.startswith(("--join", "--shutdown", "--get", "--put")):
            call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"firejail {word}")
    return call.run_args(words) if words else ANYTHING


_LAUNCHERS = (".desktop", ".sh", ".appimage", ".command", ".app", ".run", ".bin", ".exe", ".py")


def opener(call: Invocation) -> Stream:
    """`xdg-open`: shows a file or address; a launcher runs what is written in it."""
    for word in options_of(call).operands:
        path = word.like(word.removeprefix("file://"))
        if path.lower().endswith(_LAUNCHERS):
            call.fact(Effect.EXECUTES, tags=("launcher",), at=word.span, detail=str(path))
            call.executes_file(path, "")
    call.fact(Effect.EXECUTES, tags=("desktop",))
    return NOTHING


_SEPARATORS = (":::", ":::+", "::::", "::::+")
_MARKS = ("{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}", "{#}", "{%}")
MOST_ITEMS = 64


def parallel(call: Invocation) -> Stream:
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


def _items(call: Invocation, tail: list[Arg], files: list[Arg]) -> list[Arg]:
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


def _one(call: Invocation, command: list[Arg], item: Arg, mark: str) -> Stream:
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


def watch(call: Invocation) -> Stream:
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


def entr(call: Invocation) -> Stream:
    """`entr`: a command whenever a file changes; `/_` stands for the file."""
    options = options_of(call)
    words = options.operands
    if not words:
        return NOTHING
    if options.has("-s"):
        return call.run_shell(words[0])
    filled = [word.like(UNKNOWN) if word == "/_" else word for word in words]
    return call.run_args(filled, stdin=NOTHING)


def watchexec(call: Invocation) -> Stream:
    words = options_of(call).operands
    if not words:
        return NOTHING
    span = (words[0].span[0], words[-1].span[1])
    return call.run_shell(arg(" ".join(words), span))


def hyperfine(call: Invocation) -> Stream:
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
