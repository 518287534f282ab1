"""Debuggers and profilers: they run a program, or take hold of one that runs."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, UNKNOWN, Arg, Stream
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_PERF_TAKES = {
    "stat": "-e --event -o --output -p --pid -t --tid -C --cpu -r --repeat -I --interval-print -x "
    "--field-separator -G --cgroup -D --delay -M --metrics --pre --post --filter --timeout",
    "record": "-e --event -o --output -p --pid -t --tid -C --cpu -c --count -F --freq -m "
    "--mmap-pages -r --realtime -G --cgroup -D --delay -j --branch-filter -u --uid --filter",
}
_PERF_OTHER = (
    "-e --event -o --output -p --pid -t --tid -C --cpu -m --mmap-pages -u --uid -G --cgroup"
)


def perf(call: Call) -> Stream:
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


def gdb(call: Call) -> Stream:
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


def lldb(call: Call) -> Stream:
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


def _debugger_command(call: Call, text: Arg) -> None:
    command = text.strip()
    shell = re.match(
        r"(?:!|(?:platform\s+)?shell\s|sh\s|make\s|pipe\s.*\||\|.*\|)(.*)", command, re.DOTALL
    )
    if shell:
        call.run_shell(text.like(shell[1].strip()))
        return
    code = re.match(r"(?:python|py|pi|python-interactive|script)\s+(.*)", command, re.DOTALL)
    if code:
        from redoma.judge.programs.code import read_code

        read_code(call, "python", text.like(code[1]))
        return
    called = re.search(r"system\s*+\(\s*+\"((?:[^\"\\]++|\\.)*+)(?:\"|\\?\Z)", command)
    if called:
        call.run_shell(text.like(called[1]))
    if re.match(r"(?:dump|generate-core-file|gcore|save)\b.", command):
        call.fact(Effect.WRITES, tags=("project",), at=text.span)
    call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
