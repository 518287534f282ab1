"""`redoma run`: a command in an enclosure, its output as it comes, its exit status as its own."""

from __future__ import annotations

import os
import sys

from redoma.faces.cli.run_options import RunOptions, read
from redoma.faces.cli.running import own_input, pass_signals_on, sandbox_for, write, writer
from redoma.model.errors import UsageError
from redoma.model.result import Outcome
from redoma.words import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.result import Result


def main(arguments: list[str]) -> int:
    """Runs what the command line says; returns the command's own status."""
    options = read(arguments)
    if "help" in options.flags:
        from redoma.faces.cli.run_help import OPTIONS, RUN

        sys.stdout.write(phrased(RUN) + phrased(OPTIONS))
        return 0
    if not options.command or (isinstance(options.command, str) and not options.command.strip()):
        raise UsageError("no command given", hint="redoma run 'COMMAND', or redoma run --help")
    return start(options)


def start(options: RunOptions) -> int:
    """Runs a command line that was read."""
    import gc

    from redoma.flow.running import Control

    sandbox = sandbox_for(options)
    as_json = "json" in options.flags
    terminal = "tty" in options.flags
    if terminal and as_json:
        raise UsageError("--tty and --json do not go together")
    control = Control()
    if "quiet" not in options.flags and not as_json and os.isatty(2):
        from redoma.faces.cli.network import live

        control.narrate = live(raw=terminal)
    # What is loaded stays: looking through it again and again would cost a tenth of a start.
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()
    if terminal:
        from redoma.faces.cli.terminal import attached

        with attached(control):
            result = sandbox.run(
                options.command,
                stdin=0,
                sink=write,
                control=control,
                terminal=True,
                trace_files="trace-files" in options.flags,
            )
    else:
        pass_signals_on(control)
        result = sandbox.run(
            options.command,
            stdin=own_input(),
            sink=None if as_json else writer(),
            control=control,
            trace_files="trace-files" in options.flags,
        )
    control.close()
    if as_json:
        from redoma.faces.cli.result_json import text

        sys.stdout.write(text(result))
    elif "quiet" not in options.flags or not result.ok or result.held_back:
        sys.stderr.write(closing_line(result, quiet="quiet" in options.flags))
    return result.exit_code


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
    if result.applied and result.changes is not None and not quiet:
        count = len(result.changes.items)
        told = "redoma: {0} changes applied; redoma undo {1} takes them back\n"
        if count == 1:
            told = "redoma: {0} change applied; redoma undo {1} takes it back\n"
        lines.append(phrased(told, count, result.changes.id))
    for held in result.held_back:
        from redoma.faces.display import harmless

        path, why = harmless(held.path), harmless(phrased(held.why))
        lines.append(phrased("redoma: took away {0}: {1}\n", path, why))
        if held.kept:
            lines.append(phrased("hint: it is kept as {0}\n", harmless(held.kept)))
    for path in result.files_accessed or ():
        from redoma.faces.display import harmless

        lines.append(phrased("redoma: opened {0}\n", harmless(path)))
    if result.network_calls:
        from redoma.faces.cli.network import lines as network_lines

        lines += network_lines(result.network_calls)
    lines += [f"redoma: {phrased(note)}\n" for note in result.notes]
    if not result.ok and _misses_the_network(result):
        lines.append(
            phrased("hint: the network is closed here; --allow-host HOST opens it to one host\n")
        )
    if not result.ok and _misses_the_disk(result):
        lines.append(
            phrased("hint: a layer cannot do this; --direct writes straight into the workspace\n")
        )
    return "".join(lines)


def refusal(result: Result) -> str:
    """Why nothing ran, and what can be done about it."""
    assert result.decision is not None
    from redoma.faces.cli.prose import report, screen

    text = report(result.decision, screen(sys.stderr))
    if result.outcome is Outcome.DECLINED:
        text += phrased("redoma: nobody approved this, so nothing ran\n")
    else:
        text += phrased("redoma: the policy refuses this, so nothing ran\n")
    for note in result.notes:
        text += phrased("hint: {0}\n", phrased(note))
    return text


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
    closed = any(guarantee.value == "network-closed" for guarantee in held)
    return closed and any(words in said for words in _NO_NETWORK)


def _misses_the_disk(result: Result) -> bool:
    """Whether a failed command complained of what a layer does not do as a disk does."""
    said = (result.stdout[-4096:] + result.stderr[-4096:]).lower()
    words = (b"cross-device link", b"exdev", b"hardlink different from source")
    return result.changes is not None and any(each in said for each in words)
