"""`redoma preview`: a command really run, its changes held and shown, nothing of it lasting."""

from __future__ import annotations

import os
import sys

from redoma.base.text import harmless
from redoma.cli.options import CommandTable, Heading, Option, Sample
from redoma.cli.prose import screen
from redoma.cli.run_options import RUN_OPTIONS, sandbox_here
from redoma.cli.tree import MANY, counted, is_gits_own, shown, summary, summed_up, tree
from redoma.i18n import phrased
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.cli.options import CommandLine
    from redoma.cli.prose import Screen
    from redoma.model.change import Changes
    from redoma.pipeline.dry_run import DryRunReport
    from redoma.pipeline.preview import PatchPiece

PREVIEW = CommandTable(
    "preview",
    "Runs a command on an overlay over the workspace and shows what it changed there. The workspace"
    " itself stays as it is, and no other machine is reached: requests over HTTP are listed and"
    " answered by a mock, and what else the command would have called is told as far as its text"
    " says.",
    usage=("[OPTION]... 'COMMAND'", "[OPTION]... -- PROGRAM [ARGUMENT]..."),
    options=(
        Heading("how it is shown"),
        Option("--stat", "only the tree of changes, without the differences in files", late=True),
        Option("--patch", "a patch for `git apply` instead", late=True),
        Option("--json", "one JSON object with everything that is known"),
        Option("--no-pager", "does not stop at each screenful", late=True),
        Option("-q, --quiet", "does not show what the command itself prints"),
        Heading("what becomes of it"),
        Option("--keep", "keeps the changes for `redoma apply` (the default)", late=True),
        Option("--discard", "lets them go after they were shown", late=True),
    ),
    borrowed=RUN_OPTIONS,
    without="--tty --no-undo --direct --trace-files",
    notes=("What the command prints goes to standard error, what it changed to standard output.",),
    status="the command's own, as with `redoma run`",
    samples=(
        Sample("redoma preview 'echo hello > hello.txt'", "what it would change, kept to apply"),
        Sample("redoma preview --stat --discard -- touch a b", "only the tree, and nothing kept"),
    ),
    runs=True,
)


@PREVIEW.main
def main(line: CommandLine) -> int:
    """Previews what the command line says; returns the command's own status."""
    if not line.command or (isinstance(line.command, str) and not line.command.strip()):
        raise UsageError("no command given", hint="redoma preview 'COMMAND'")
    if "--tty" in line.flags:
        raise UsageError("a preview has no terminal to give", hint="redoma run -t 'COMMAND'")
    if "--no-undo" in line.flags:
        raise UsageError("a preview applies nothing", hint="redoma apply ID --no-undo")
    for only_one in (("--json", "--stat", "--patch"), ("--keep", "--discard")):
        given = [flag for flag in only_one if flag in line.flags]
        if len(given) > 1:
            raise UsageError(f"{given[0]} and {given[1]} do not go together")
    found = _previewed(line)
    show(found, line.flags)
    if "--discard" in line.flags and found.id:
        from redoma.pipeline.decisions.policies import load_policy
        from redoma.pipeline.transactions import local_transactions

        local_transactions(load_policy(found.changes.workspace)).discard(found.id)
    return found.result.exit_code


def show(found: DryRunReport, flags: set[str]) -> None:
    """The preview in the asked-for form on standard output; what to do next on standard error."""
    if "--json" in flags:
        from redoma.cli.json_report import preview_text

        sys.stdout.write(preview_text(found))
        return
    if "--patch" in flags:
        write_patch(found.changes, pager="--no-pager" not in flags)
    else:
        from redoma.cli.console import page

        page(preview_report(found, stat="--stat" in flags), wanted="--no-pager" not in flags)
    sys.stdout.flush()
    for line in closing(found, kept="--discard" not in flags):
        sys.stderr.write(f"{line}\n")


def closing(found: DryRunReport, *, kept: bool) -> list[str]:
    """What a person should know and can do, line by line."""
    lines = []
    if not found.would_execute:
        because = found.result.decision.because if found.result.decision else ()
        reasons = "; ".join(harmless(phrased(reason)) for reason in because)
        lines.append(f"redoma: {phrased(found.result.outcome.words)}: {reasons}")
    lines += [phrased("warning: {0}", harmless(phrased(each))) for each in found.warnings]
    if found.result.enforcement is not None:
        lines.append(f"redoma: {phrased(found.result.enforcement.sentence())}")
    lines += [phrased("redoma: ran instead: {0}", harmless(ran)) for ran in found.ran_instead]
    if not found.id:
        lines.append(phrased("redoma: no file would change"))
    elif kept:
        held = "redoma: the changes are held as {0}; the workspace is as it was"
        lines.append(phrased(held, found.id))
        lines.append(phrased("hint: redoma apply {0}, or redoma discard {0}", found.id))
    else:
        lines.append(phrased("redoma: the changes were let go; the workspace is as it was"))
    if found.id and kept and found.lasting:
        lines.append(
            phrased("hint: applying keeps the files; what is not a file is done by running it")
        )
    return lines


def _previewed(line: CommandLine) -> DryRunReport:
    from redoma.cli.streams import own_input, steered, writer

    sink = None if line.flags & {"--json", "--quiet"} else writer(out=2)
    with steered() as control:
        sandbox, cwd = sandbox_here(line)
        held = sandbox.preview(line.command, cwd=cwd, stdin=own_input(), sink=sink, control=control)
        return held.found


LINES_COUNTED = 2000  # beyond so many changes their lines are not counted for the tree


def preview_report(found: DryRunReport, *, stat: bool) -> Iterator[str]:
    """The whole report, piece by piece, so that the first screen does not wait for the last."""
    on = screen(sys.stdout)
    yield from changes_report(found.changes, on, stat=stat)
    yield from _listed(phrased("would call"), found.network_calls)
    yield from _listed(phrased("database"), found.database_operations)
    if not found.changes.unread:  # a warning says why, and where they are
        yield f"{summary(found.changes.items)}\n"


def changes_report(changes: Changes, on: Screen, *, stat: bool) -> Iterator[str]:
    """The tree, and unless only numbers are wanted the differences."""
    from redoma.pipeline.preview import file_diffs

    if not changes.items:
        return
    above = summed_up(changes.items)
    apart = [item for item in changes.items if not item.path.startswith(above)]
    few = len(apart) <= LINES_COUNTED
    diffs = {diff.change.path: diff for diff in file_diffs(changes, apart)} if few else {}
    yield tree(changes.items, on, diffs)
    yield "\n"
    if stat:
        return
    if few:
        yield from shown((d for path, d in diffs.items() if not is_gits_own(path)), on)
    left_out = sum(item.path not in diffs and not is_gits_own(item.path) for item in changes.items)
    if left_out:
        told = "(what is in {0} more paths is not shown: --patch has it)\n"
        yield phrased(told, counted(left_out))
    yield "\n"


def write_patch(changes: Changes, *, pager: bool = True) -> None:
    """The patch as bytes on standard output; what has no place in it on standard error.

    On a terminal it is for reading: nothing in it acts, and so it is not for applying.
    """
    from redoma.pipeline.preview import patch

    left_out: list[PatchPiece] = []

    def parts() -> Iterator[bytes]:
        for piece in patch(changes) if changes.items else ():
            if piece.left_out:
                left_out.append(piece)
            yield piece.patch

    if os.isatty(1):
        from redoma.cli.console import page

        page((readable(part) for part in parts()), wanted=pager)
    else:
        sys.stdout.flush()
        for part in parts():
            view = memoryview(part)
            while view:
                view = view[os.write(1, view) :]
    for piece in left_out[:MANY]:
        path, why = harmless(piece.path), harmless(phrased(piece.left_out))
        sys.stderr.write(phrased("not in the patch: {0}: {1}\n", path, why))
    if len(left_out) > MANY:
        sys.stderr.write(phrased("not in the patch: {0} more\n", len(left_out) - MANY))


def readable(patch: bytes) -> str:
    """A patch with everything that would act on a terminal shown as an escape."""
    return "".join(
        f"{harmless(line)}\n"
        for line in patch.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    )


def _listed(what: str, lines: tuple[str, ...]) -> Iterator[str]:
    for line in lines:
        yield f"{what}: {harmless(phrased(line))}\n"
