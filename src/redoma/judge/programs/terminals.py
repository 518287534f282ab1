"""Programs that type, schedule and record for others, and debuggers that take hold of them."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NOTHING, UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_STARTS = frozenset(
    "new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window "
    "respawnw run-shell run if-shell if pipe-pane pipep display-popup popup".split()
)
_STARTING_OPTIONS = frozenset(
    "default-command default-shell lock-command copy-command editor".split()
)
_LOOKS = frozenset(
    "list-sessions ls list-windows lsw list-panes lsp list-clients lsc list-keys lsk list-commands "
    "lscm list-buffers lsb show-options show showw show-window-options show-buffer showb "
    "show-environment showenv show-hooks show-messages showmsgs show-prompt-history showphist "
    "display-message display capture-pane capturep has-session has info server-info".split()
)
MOST_COMMANDS = 200
_KEYS = re.compile(
    r"(?:Enter|C-[a-zA-Z\[\]\\^_@]|M-.|KPEnter|Escape|Tab|BTab|BSpace|Space|Up|Down|Left|Right|Home|End|F\d+|S-\w+)$"
)
# `#(command)` in a format is replaced by what the command prints. One that nothing closes reaches
# to the end: looking for its end anew from each of many would take quadratic time.
_FORMAT_COMMAND = re.compile(r"#\(([^)]*+)(?:\)|\Z)")


def _letters(words: list[Arg]) -> set[str]:
    return {f"-{letter}" for word in words if word[:1] == "-" for letter in word[1:]}


def tmux(call: Invocation) -> Stream:
    """`tmux`: what it starts or types is shell code; what it lists is only shown."""
    options = options_of(call)
    for text in options.values("-c"):
        call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
        call.run_shell(text)
    for word in options.values("-f"):
        call.reads(word)
    commands: list[list[Arg]] = [[]]
    for word in options.operands:
        if word in (";", "\\;"):
            commands.append([])
        else:
            commands[-1].append(word)
    if not options.operands and not options.has("-V", "-c"):
        call.fact(Effect.EXECUTES, tags=("interactive",))
    if len(commands) > MOST_COMMANDS:
        call.fact(Effect.UNKNOWN, tags=("too-much",))
    for command in commands[:MOST_COMMANDS]:
        if command:
            _tmux_command(call, str(command[0]), command[1:])
    return ANYTHING


def _looks(call: Invocation, name: str, words: list[Arg]) -> None:
    for word in words:
        for found in _FORMAT_COMMAND.finditer(word):
            call.fact(Effect.EXECUTES, tags=("flag",), at=word.span)
            call.run_shell(word.like(found[1]))
    if name in ("capture-pane", "capturep") and "-p" not in _letters(words):
        call.fact(Effect.EXECUTES, tags=("flag",))


def _tmux_command(call: Invocation, name: str, words: list[Arg]) -> None:
    if name in _LOOKS:
        _looks(call, name, words)
        return
    if name in ("send-keys", "send"):
        _types(call, words)
        return
    if name in (
        "new-session",
        "new",
        "new-window",
        "neww",
        "split-window",
        "splitw",
        "display-popup",
        "popup",
    ):
        takes = (
            frozenset("-c -e -F -n -s -t -x -y -l -p -w -h -S -T -b".split())
            - ({"-h", "-b", "-S"} if name.startswith("split") else set())
            - ({"-b", "-S", "-h", "-p", "-l", "-w"} if name.startswith("new") else set())
        )
    else:
        takes = frozenset("-c -e -t -d -T -N".split())
    options = split(words, takes, stops=True)
    if name in _STARTS:
        call.fact(Effect.EXECUTES, tags=("flag",))
        for text in options.operands if name in ("if-shell", "if") else _joined(options.operands):
            call.run_shell(text)
        return
    if name.startswith("kill-") or name in ("killp", "killw", "kill"):
        call.fact(Effect.KILLS)
    elif name in ("source-file", "source"):
        for word in options.operands:
            call.executes_file(word, "tmux")
    else:
        call.fact(Effect.EXECUTES, tags=("flag",))
        for place, word in enumerate(options.operands[1:], 2):
            if word in _STARTS or word in ("send-keys", "send"):
                _tmux_command(call, str(word), options.operands[place:])
                return
        if any(word in _STARTING_OPTIONS for word in options.operands):
            call.run_shell(options.operands[-1])
        _looks(call, name, options.operands)
        for text in options.operands[1:]:
            found = re.search(r"(?:run-shell|run|if-shell)\s+(?:-b\s+)?(.+)", text)
            if found:
                call.run_shell(text.like(found[1].strip("'\"")))


def _joined(words: list[Arg]) -> list[Arg]:
    if not words:
        return []
    taint = 0
    for word in words:
        taint |= word.taint
    return [arg(" ".join(words), (words[0].span[0], words[-1].span[1]), taint)]


def _types(call: Invocation, words: list[Arg]) -> None:
    options = split(words, frozenset(("-t", "-N")))
    typed = [w for w in options.operands if not _KEYS.match(w)]
    call.fact(Effect.EXECUTES, tags=("flag",))
    for text in _joined(typed):
        keys = text.like(text.replace("C-m", "\n"))
        # What is typed may be meant for an editor as well as for a shell.
        (call.run_shell if UNKNOWN in keys else call.reads_perhaps)(keys)


def screen(call: Invocation) -> Stream:
    """`screen`: starts a command, or stuffs text into a session."""
    if any(w in ("-ls", "-list", "-v", "--version") for w in call.args[:1]):
        return ANYTHING
    options = options_of(call)
    words = list(options.operands)
    if options.has("-X"):
        call.fact(Effect.EXECUTES, tags=("flag",))
        if words[:1] in (["stuff"], ["exec"]):
            for text in _joined(words[1:]):
                call.run_shell(text.like(re.sub(r"\\n|\\r|\^M|\\015|\\012", "\n", text)))
        elif words[:1] in (["quit"], ["kill"]):
            call.fact(Effect.KILLS)
        return NOTHING
    call.fact(Effect.EXECUTES, tags=("flag",) if words else ("interactive",))
    return call.run_args(words) if words else ANYTHING


def script(call: Invocation) -> Stream:
    """`script`: records a terminal session; the command is `-c` or follows the file."""
    takes = frozenset(
        "-c --command -E --echo -I --log-in -O --log-out -B --log-io -T --log-timing -m "
        "-o -t".split()
    )
    options = split(call.args, takes - {"-t"}, stops=True, optional=frozenset(("-t", "--timing")))
    words = list(options.operands)
    rest = split(words[1:], takes - {"-t"}) if words[1:] and words[1].startswith("-") else None
    for name in options.values(
        "-I", "--log-in", "-O", "--log-out", "-B", "--log-io", "-T", "--log-timing"
    ):
        call.writes(name)
    if options.has("-p"):
        return call.passes_on(*[call.reads(w) for w in words[:1]])
    for word in words[:1] or [arg("typescript", call.word.span)]:
        call.writes(word)
    texts = options.values("-c", "--command") + (rest.values("-c", "--command") if rest else [])
    if texts:
        return [call.run_shell(text) for text in texts][-1]
    if words[1:] and rest is None:
        return call.run_args(words[1:])
    call.fact(Effect.EXECUTES, tags=("interactive",))
    return ANYTHING


def at(call: Invocation) -> Stream:
    """`at`, `batch`: what flows in runs later, when nobody looks."""
    options = options_of(call)
    if options.has("-l", "-c", "-V"):
        return ANYTHING
    if options.has("-d", "-r"):
        call.fact(Effect.WRITES, tags=("settings",))
        return NOTHING
    call.fact(Effect.EXECUTES, tags=("scheduled",))
    for word in options.values("-f"):
        call.executes_file(word)
        return NOTHING
    if call.stdin.text is not None or call.stdin.taint:
        call.executes_stream(call.stdin)
    return NOTHING


def crontab(call: Invocation) -> Stream:
    """`crontab`: `-l` shows, everything else changes what runs by itself."""
    options = options_of(call)
    if options.has("-l", "-V", "-T"):
        return ANYTHING
    call.fact(Effect.PERSISTS)
    for word in options.operands:
        if word != "-":
            call.reads(word)
    return NOTHING


_SPAWN = re.compile(
    r"(?:^|[;\n{\[])[^\S\n]*+(?:spawn|exec|system|overlay)\s++(?:-noecho\s++)?([^;\n\]}]+)"
)


def expect(call: Invocation) -> Stream:
    """`expect`: a Tcl script that starts programs and answers them."""
    options = options_of(call)
    texts = options.values("-c")
    files = [*options.values("-f"), *(options.operands[:1] if not texts else [])]
    if call.stdin.text is not None and not files:
        texts = [*texts, call.word.like(call.stdin.text)]
    for text in texts:
        call.fact(Effect.EXECUTES, tags=("arbitrary",), at=text.span, detail="tcl")
        for match in _SPAWN.finditer(text):
            call.run_shell(text.like(match[1].replace("{", "'").replace("}", "'")))
    for word in files:
        call.executes_file(word, "tcl")
    if not texts and not files:
        call.fact(Effect.EXECUTES, tags=("interactive",))
    return ANYTHING


_PERF_TAKES = {
    "stat": "-e --event -o --output -p --pid -t --tid -C --cpu -r --repeat -I --interval-print -x "
    "--field-separator -G --cgroup -D --delay -M --metrics --pre --post --filter --timeout",
    "record": "-e --event -o --output -p --pid -t --tid -C --cpu -c --count -F --freq -m "
    "--mmap-pages -r --realtime -G --cgroup -D --delay -j --branch-filter -u --uid --filter",
}
_PERF_OTHER = (
    "-e --event -o --output -p --pid -t --tid -C --cpu -m --mmap-pages -u --uid -G --cgroup"
)


def perf(call: Invocation) -> Stream:
    """`perf stat`, `perf record`: measure a command while it runs."""
    words = list(call.args)
    kind = str(words[0]) if words else ""
    if kind in ("stat", "record", "trace", "mem", "c2c", "kvm", "sched", "lock", "ftrace", "kwork"):
        options = split(
            words[1:], frozenset(_PERF_TAKES.get(kind, _PERF_OTHER).split()), stops=True
        )
        for word in options.values("-o", "--output"):
            call.writes(word)
        for text in options.values("--pre", "--post"):
            call.run_shell(text)
        inner = options.operands
        if inner[:1] in (["record"], ["report"], ["latency"]):
            inner = inner[1:]
        return call.run_args(inner) if inner else ANYTHING
    if kind in (
        "",
        "report",
        "list",
        "script",
        "annotate",
        "diff",
        "evlist",
        "top",
        "version",
        "help",
        "buildid-list",
    ):
        return ANYTHING
    call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"perf {kind}")
    return ANYTHING


def gdb(call: Invocation) -> Stream:
    """`gdb`: its commands may run a shell; `-p` takes hold of a running process."""
    words = list(call.args)
    if "--args" in words:
        place = words.index("--args")  # type: ignore[arg-type]
        call.fact(Effect.EXECUTES, tags=("debugger",))
        call.run_args(words[place + 1 :])
        words = words[:place]
    options = options_of(call, words)
    for text in options.values(
        "-ex", "--eval-command", "-iex", "--init-eval-command", "-eval-command"
    ):
        _debugger_command(call, text)
    for word in options.values("-x", "--command", "-ix", "--init-command"):
        call.executes_file(word, "gdb")
    for pid in options.values("-p", "--pid", "-pid"):
        tags = ("init",) if pid == "1" else ("attached",)
        call.fact(Effect.SYSTEM, tags=tags, at=pid.span, detail=str(pid).replace(UNKNOWN, "…"))
    call.fact(Effect.EXECUTES, tags=("debugger",))
    return ANYTHING


def lldb(call: Invocation) -> Stream:
    """`lldb`: as gdb, with its own options."""
    options = options_of(call)
    for text in options.values("-o", "-O", "-k", "--one-line"):
        _debugger_command(call, text)
    for word in options.values("-s", "-S", "-K"):
        call.executes_file(word, "lldb")
    for pid in options.values("-p", "--attach-pid"):
        call.fact(Effect.SYSTEM, tags=("attached",), at=pid.span, detail=str(pid))
    if options.operands:
        call.run_args(options.operands)
    call.fact(Effect.EXECUTES, tags=("debugger",))
    return ANYTHING


def _debugger_command(call: Invocation, text: Arg) -> None:
    command = text.strip()
    shell = re.match(
        r"(?:!|(?:platform\s+)?shell\s|sh\s|make\s|pipe\s.*\||\|.*\|)(.*)", command, re.DOTALL
    )
    if shell:
        call.run_shell(text.like(shell[1].strip()))
        return
    code = re.match(r"(?:python|py|pi|python-interactive|script)\s+(.*)", command, re.DOTALL)
    if code:
        from redoma.judge.programs.knowledge import read_code

        read_code(call, "python", text.like(code[1]))
        return
    called = re.search(r"system\s*+\(\s*+\"((?:[^\"\\]++|\\.)*+)(?:\"|\\?\Z)", command)
    if called:
        call.run_shell(text.like(called[1]))
    if re.match(r"(?:dump|generate-core-file|gcore|save)\b.", command):
        call.fact(Effect.WRITES, tags=("project",), at=text.span)
    call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
