"""`redoma run` and `redoma shell`: a command in a sandbox, its exit status as its own."""

from __future__ import annotations

import os
import sys

from redoma.base.text import harmless
from redoma.cli import COULD_NOT_WORK, say
from redoma.cli.options import CommandTable, Sample
from redoma.cli.run_options import RUN_OPTIONS, sandbox_here
from redoma.cli.streams import own_input, pass_signals_on, terminal_writer, writer
from redoma.i18n import phrased
from redoma.model.decision import Effect, Verdict
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.model.network import Connection
    from redoma.model.result import Result


_SIGINT = 2
_PROMPT = "PS1=(redoma) \\w \\$ "
_STATUS = (
    "the command's own; 124 timed out, 125 Redoma could not do its work, 126 refused or not"
    " executable, 127 not found, 2 usage"
)
RUN = CommandTable(
    "run",
    "Runs a shell command, or a program without a shell, inside a sandbox. The workspace is the"
    " current directory; the command can write there and nowhere else.",
    usage=("[OPTION]... 'COMMAND'", "[OPTION]... -- PROGRAM [ARGUMENT]..."),
    options=RUN_OPTIONS,
    notes=(
        "The command is judged first, by your policy (redoma policy explain 'COMMAND'), and"
        " everything is written down (redoma audit list).",
    ),
    status=_STATUS,
    samples=(
        Sample("redoma run 'echo hello > hello.txt'", "runs it; redoma undo takes it back"),
        Sample("redoma run --level strict -- ls -l", "a program with its words, held tighter"),
    ),
    runs=True,
)
SHELL = CommandTable(
    "shell",
    "Opens a shell inside a sandbox. The workspace is the current directory; what is done in the"
    " shell can write there and nowhere else.",
    usage=("[OPTION]...",),
    borrowed=RUN_OPTIONS,
    without="--tty --json",
    status=_STATUS,
    samples=(Sample("redoma shell --level strict", "held tighter; exit leaves it"),),
    runs=True,
)


@RUN.main
def run(line: CommandLine) -> int:
    """Runs what the command line says; returns the command's own status."""
    if not line.command or (isinstance(line.command, str) and not line.command.strip()):
        raise UsageError("no command given", hint="redoma run 'COMMAND', or redoma run --help")
    return start(line)


@SHELL.main
def shell(line: CommandLine) -> int:
    """Opens a shell in a sandbox and returns its status."""
    from redoma.pipeline.answerers import BY_HAND

    if line.command:
        raise UsageError("redoma shell takes no command", hint="redoma run -t 'COMMAND'")
    bash = os.path.exists("/bin/bash")
    line.command = ["/bin/bash", "--norc", "-i"] if bash else ["/bin/sh", "-i"]
    line.flags.add("--tty")
    line.values.setdefault("--timeout", "none")
    line.values.setdefault("--output-total", "none")
    line.many.setdefault("--env", []).append(_PROMPT)
    line.values["--ask"] = BY_HAND
    return start(line)


def start(line: CommandLine) -> int:
    """Runs a command line that was read."""
    import gc

    from redoma.pipeline.this_host import Control

    sandbox, cwd = sandbox_here(line)
    as_json = line.json
    quiet = "--quiet" in line.flags
    terminal = at_a_terminal(line)
    for note in () if quiet else sandbox.tool_notes:
        say(f"redoma: {harmless(phrased(note))}")
    control = Control()
    if not quiet and not as_json and os.isatty(2):
        control.narrate = _told_raw if terminal else _told
    # What is loaded stays: looking through it again and again would cost a tenth of a start.
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()
    sink = terminal_writer(obeyed="--tty" in line.flags) if terminal else writer()
    pass_signals_on(control)
    if terminal:
        from redoma.cli.console import attached

        control.attached = attached
    result = sandbox.run(
        line.command,
        cwd=cwd,
        stdin=0 if terminal else own_input(),
        sink=None if as_json else sink,
        control=control,
        terminal=terminal,
        trace_files="--trace-files" in line.flags,
    )
    control.close()
    if as_json:
        from redoma.cli.json_report import result_text

        sys.stdout.write(result_text(result))
    else:
        if terminal and result.exit is not None and result.exit.signal == _SIGINT:
            say("\r")  # the echo of Ctrl-C stands on this line
        close(result, quiet=quiet, guarantees="--verbose" in line.flags)
    if sink.trouble is None:
        return result.exit_code
    why = sink.trouble.strerror or str(sink.trouble)
    say(phrased("redoma: the command's output could not be written: {0}", why))
    return result.exit_code or COULD_NOT_WORK


def at_a_terminal(line: CommandLine) -> bool:
    """Whether the command gets a terminal: it is asked for, or a person sits at ours."""
    if "--tty" in line.flags:
        if line.json:
            raise UsageError("--tty and --json do not go together")
        return True
    if line.json or "--no-tty" in line.flags or not all(map(os.isatty, (0, 1, 2))):
        return False
    return os.tcgetpgrp(0) == os.getpgrp()  # in the background it would be stopped


def close(result: Result, *, quiet: bool = False, guarantees: bool = False) -> None:
    """Says what a person should know of how it ended: nothing, where nothing happened."""
    if (
        not guarantees
        and result.ok
        and (_uneventful(result) if not quiet else not result.held_back)
    ):
        return
    from redoma.cli.closing_lines import closing_line, shown

    told = closing_line(result, quiet=quiet, guarantees=guarantees)
    say(shown(told).removesuffix("\n"))


def _uneventful(result: Result) -> bool:
    """Whether a command that ended well changed nothing, asked nothing and met nobody."""
    if result.changes is not None and result.changes.items:
        return False
    if result.notes or result.held_back or result.network_calls or result.files_accessed:
        return False
    found = result.decision
    if found is None or found.verdict >= Verdict.CONFIRM:
        return False
    # What it wrote outside the workspace may not last.
    return not any(
        each.effect is Effect.WRITES and target.startswith("/")
        for each in found.assessment.findings
        for target in each.targets
    )


def _told(call: Connection) -> bytes:
    """A connection as it happens, in one line."""
    from redoma.cli.closing_lines import live

    return live(call)


def _told_raw(call: Connection) -> bytes:
    """The same for a terminal that ends no line by itself."""
    return _told(call).replace(b"\n", b"\r\n")
