"""`redoma run` and `redoma shell`: a command in a sandbox, its exit status as its own."""

from __future__ import annotations

import os
import sys

from redoma.base.paths import is_below
from redoma.base.text import harmless
from redoma.cli import COULD_NOT_WORK, say
from redoma.cli.options import CommandTable, Sample
from redoma.cli.run_options import LIMITS, RUN_OPTIONS, sandbox_for
from redoma.cli.streams import own_input, pass_signals_on, raw_writer, writer
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.model.grant import Guarantee
from redoma.model.result import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redoma.cli.options import CommandLine
    from redoma.model.network import Connection
    from redoma.model.result import Quarantined, Result


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

    sandbox = sandbox_for(line)
    as_json = line.json
    terminal = "--tty" in line.flags
    quiet = "--quiet" in line.flags
    for note in () if quiet else sandbox.tool_notes:
        say(f"redoma: {harmless(phrased(note))}")
    if terminal and as_json:
        raise UsageError("--tty and --json do not go together")
    control = Control()
    if not quiet and not as_json and os.isatty(2):
        control.narrate = live(raw=terminal)
    # What is loaded stays: looking through it again and again would cost a tenth of a start.
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()
    sink = raw_writer() if terminal else writer()
    if terminal:
        from redoma.cli.console import attached

        with attached(control):
            result = sandbox.run(
                line.command,
                stdin=0,
                sink=sink,
                control=control,
                terminal=True,
                trace_files="--trace-files" in line.flags,
            )
    else:
        pass_signals_on(control)
        result = sandbox.run(
            line.command,
            stdin=own_input(),
            sink=None if as_json else sink,
            control=control,
            trace_files="--trace-files" in line.flags,
        )
    control.close()
    if as_json:
        from redoma.cli.json_report import result_text

        sys.stdout.write(result_text(result))
    elif not quiet or not result.ok or result.held_back:
        say(closing_line(result, quiet=quiet).removesuffix("\n"))
    if sink.trouble is None:
        return result.exit_code
    why = sink.trouble.strerror or str(sink.trouble)
    say(phrased("redoma: the command's output could not be written: {0}", why))
    return result.exit_code or COULD_NOT_WORK


def _outermost(held_back: tuple[Quarantined, ...]) -> list[Quarantined]:
    """What was held back, without what lies in a directory that was, for the same reason."""
    shown: list[Quarantined] = []
    for held in sorted(held_back, key=lambda each: each.path.split("/")):
        above = shown[-1] if shown else None
        if above and is_below(held.path, above.path) and held.why == above.why:
            continue
        shown.append(held)
    return shown


def _held_back_lines(result: Result) -> list[str]:
    """What a person's tools would obey and was left out of an apply, or taken away after a run."""
    from redoma.base.text import harmless

    lines = []
    for held in _outermost(result.held_back):
        path, why = harmless(held.path), harmless(phrased(held.why))
        if result.changes is not None:
            lines.append(phrased("redoma: did not apply {0}: {1}\n", path, why))
            continue
        lines.append(phrased("redoma: took away {0}: {1}\n", path, why))
        if held.kept:
            lines.append(phrased("hint: it is kept as {0}\n", harmless(held.kept)))
    if lines and not result.notes:
        lines.append(
            phrased("hint: --allow-write PATH lets a command write what your tools obey\n")
        )
    return lines


def closing_line(result: Result, *, quiet: bool = False) -> str:
    """One line: how it ended if that needs saying, what was enforced, what was taken away."""
    if result.decision is not None and result.outcome in (Outcome.DENIED, Outcome.DECLINED):
        return refusal(result)
    said = []
    if result.outcome not in (Outcome.EXITED, Outcome.SIGNALLED):
        said.append(phrased(result.outcome.words))
    reached = result.exit.limits_reached if result.exit else ()
    if reached:
        names = ", ".join(phrased(name.replace("_", " ")) for name in reached)
        said.append(phrased("limits met: {0}", names))
    if result.enforcement is not None and not quiet:
        said.append(phrased(result.enforcement.sentence()))
    lines = [f"redoma: {'; '.join(said)}\n"] if said else []
    if reached:
        flags = [flag for flag, limit in LIMITS.items() if limit in reached]
        more = ", ".join(flag for flag in flags if flag != "--keep-free")
        if more:
            lines.append(phrased("hint: {0} with a larger value, or none, raises it\n", more))
        if "--keep-free" in flags:
            lines.append(
                phrased("hint: free some space; --keep-free with less, or none, uses it\n")
            )
    if result.applied and result.changes is not None and not quiet:
        back = {held.path for held in result.held_back}
        root = result.changes.workspace
        count = sum(f"{root}/{item.path}" not in back for item in result.changes.items)
        told = "redoma: {0} changes applied; redoma undo {1} takes them back\n"
        if not result.undoable:
            told = "redoma: changes applied for good: {0}; nothing was kept to undo {1}\n"
        elif count == 1:
            told = "redoma: {0} change applied; redoma undo {1} takes it back\n"
        lines.append(phrased(told, count, result.changes.id))
    if result.held_back:
        lines += _held_back_lines(result)
    for path in result.files_accessed or ():
        from redoma.base.text import harmless

        lines.append(phrased("redoma: opened {0}\n", harmless(path)))
    if result.network_calls:
        lines += network_lines(result.network_calls)
    lines += [f"redoma: {phrased(note)}\n" for note in result.notes]
    if not result.ok and _misses_the_network(result):
        lines.append(
            phrased("hint: the network is closed here; --allow-host HOST opens it to one host\n")
        )
    if not result.ok and _misses_the_disk(result):
        lines.append(
            phrased(
                "hint: an overlay cannot do this; --direct writes straight into the workspace\n"
            )
        )
    return "".join(lines)


def refusal(result: Result) -> str:
    """Why nothing ran, and what can be done about it."""
    assert result.decision is not None
    from redoma.cli.prose import report, screen

    result_text = report(result.decision, screen(sys.stderr))
    if result.outcome is Outcome.DECLINED:
        result_text += phrased("redoma: nobody approved this, so nothing ran\n")
    else:
        result_text += phrased("redoma: the policy refuses this, so nothing ran\n")
    for note in result.notes:
        result_text += phrased("hint: {0}\n", phrased(note))
    return result_text


_NO_NETWORK = (
    b"name resolution",
    b"could not resolve",
    b"network is unreachable",
    b"eai_again",
    b"enotfound",
    b"no such host",
    b"(from versions: none)",
)


def _misses_the_network(result: Result) -> bool:
    """Whether a failed command complained of what a closed network looks like; only for a hint."""
    held = result.enforcement.held if result.enforcement is not None else frozenset()
    said = (result.stdout[-4096:] + result.stderr[-4096:]).lower()
    closed = Guarantee.NETWORK_CLOSED in held
    return closed and any(words in said for words in _NO_NETWORK)


def _misses_the_disk(result: Result) -> bool:
    """Whether a failed command complained of what an overlay does not do as a disk does."""
    said = (result.stdout[-4096:] + result.stderr[-4096:]).lower()
    words = (b"cross-device link", b"exdev", b"hardlink different from source")
    return result.changes is not None and any(each in said for each in words)


_MOST_CALLS = 10


def network_lines(calls: tuple[Connection, ...]) -> list[str]:
    """One line for what was reached, and one for each thing that was refused."""
    reached = _targets(call for call in calls if call.allowed and call.by != "mock")
    mocked = _targets(call for call in calls if call.allowed and call.by == "mock")
    made = []
    if mocked:
        made.append(phrased("redoma: answered by a mock: {0}\n", _few(mocked)))
    if reached:
        made.append(phrased("redoma: reached {0}\n", _few(reached)))
    refused = [call for call in calls if not call.allowed]
    made += [_refused(call) for call in refused[:_MOST_CALLS]]
    if len(refused) > _MOST_CALLS:
        more = len(refused) - _MOST_CALLS
        made.append(phrased("redoma: refused: {0} more (--json lists them)\n", more))
    return made


def _few(hosts: list[str]) -> str:
    """The first of them, and how many more there are."""
    shown = ", ".join(hosts[:_MOST_CALLS])
    more = len(hosts) - _MOST_CALLS
    return phrased("{0} and {1} more", shown, more) if more > 0 else shown


def _targets(calls: Iterable[Connection]) -> list[str]:
    return list(dict.fromkeys(harmless(_told(call)) for call in calls))


def live(*, raw: bool = False) -> Callable[[Connection], bytes]:
    """Words a connection as it happens, in one line; `raw` is for a terminal that ends none."""
    end = "\r\n" if raw else "\n"

    def line(call: Connection) -> bytes:
        text = _refused(call).rstrip("\n") if not call.allowed else _begun(call)
        return f"{text}{end}".encode()

    return line


def _begun(call: Connection) -> str:
    target = harmless(call.target)
    if call.kind == "published":
        return phrased("redoma: visited on {0}", target)
    program = harmless(call.program)
    if call.method:
        asked = harmless(f"{call.method} {call.kind}://{call.target}{call.path}")
        by = phrased(" by a cache" if call.by == "cache" else " by a mock") if call.by else ""
        return f"redoma: {asked}: {call.status}{by}"
    if program:
        return phrased("redoma: {0} reaches {1}", program, target)
    return phrased("redoma: reaches {0}", target)


def _refused(call: Connection) -> str:
    from redoma.cli.remedies import granting

    target, grant = harmless(_told(call)), harmless(granting(call))
    why = harmless(phrased(call.why))
    if call.kind == "udp":
        return phrased("redoma: refused: {0} by UDP: {1}\n", target, why)
    if grant and call.listed:
        told = "redoma: refused: {0} — the policy has to list it, as in {1}\n"
        return phrased(told, target, grant)
    if grant:
        return phrased("redoma: refused: {0} — grant it with {1}\n", target, grant)
    return phrased("redoma: refused: {0}: {1}\n", target, why)


def _told(call: Connection) -> str:
    """A host, or a request to it."""
    return f"{call.method} {call.target}{call.path}" if call.method else call.target
