"""`redoma fleet`: a file of items run over a cluster, gone on with where it stopped."""

from __future__ import annotations

import json
import os
import sys
import time

from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.cli.run_options import RUN_OPTIONS, sandbox_arguments
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.cli.options import CommandLine
    from redoma.fleet.job_run import JobProgress, JobRun

FLEET = CommandTable(
    "fleet",
    "Runs commands over a cluster of Ray, each in its own sandbox. A file of items has one JSON"
    ' value a line: a command as text, a program as a list of words, or an object with "command"'
    ' and perhaps "id", "cwd", "stdin" and "timeout".',
    arguments=(
        Argument("JOBS", "the file of items"),
        Argument("RESULTS", "the file of results of a job"),
        Argument("ITEM", "the number of an item, counted from 0"),
    ),
    options=(
        Heading("the cluster"),
        Option(
            "--address ADDRESS",
            "the head of the cluster, as HOST:PORT (default: $RAY_ADDRESS; without either, Ray is"
            " started on this machine)",
            of="run nodes",
        ),
        Option("--slots NUMBER", "runs that a node has at a time at most", of="run nodes"),
        Option(
            "--attempts NUMBER",
            "how often an item is tried that the machinery fails, 3 by default; a command that"
            " fails by itself is not tried again",
            of="run",
        ),
        Heading("the job"),
        Option("-o, --results RESULTS", "where the results go, a line for each item", of="run"),
        Option(
            "--workspace PATH",
            "a directory, or a tar file of one, that is sent to each node once; every run has its"
            " own layer over it. With apply: the directory that is changed",
            of="run apply",
        ),
        Option("--json", "one JSON object"),
        Option("-q, --quiet", "no progress", of="run"),
    ),
    borrowed=RUN_OPTIONS,
    without=(
        "--tty --no-tty --apply --trace-files --ask --direct --no-undo --secret --credential"
        " --publish --profile"
    ),
    notes=(
        "A job that was stopped, or whose driver was killed, goes on with the same command line."
        " What has a result is not run again: a node keeps how an item ended until that is on the"
        " driver's disk.",
    ),
    status="0 every item succeeded; 1 some did not; 126 no node can take the work",
    samples=(Sample("redoma fleet run --help", "all of this"),),
)
_BAR = 24


@FLEET.subcommand(
    "run", "JOBS -o RESULTS [OPTION]...", "runs the items of a file that have no result yet", most=1
)
def _run(line: CommandLine) -> int:
    from redoma.base import signals

    run, bar = _job(line)
    stops: list[int] = []

    def stop(number: int, _frame: object) -> None:
        stops.append(number)
        run.stopping = True
        if len(stops) > 1:
            raise signals.Stopped(number)
        bar.say(phrased("what runs is awaited; once more, and it is left"))

    for number in (signals.SIGINT, signals.SIGTERM, signals.SIGHUP):
        if not signals.ignored(number):
            signals.handle(number, stop)
    try:
        ended = run.run()
    finally:
        bar.end()
    _tell(line, ended)
    if stops:
        return 128 + stops[0]
    return 0 if ended.done == ended.total and not ended.failed else 1


def _job(line: CommandLine) -> tuple[JobRun, ProgressBar]:
    if not line.words:
        raise UsageError("no file of items is given", hint="redoma fleet run JOBS -o RESULTS")
    jobs = line.words[0]
    results = line.values.get("--results", "")
    if not results:
        raise UsageError(
            "no place for the results is given", hint=f"redoma fleet run {jobs} -o RESULTS"
        )
    if not os.path.isfile(jobs):
        raise UsageError("{jobs} is no file", jobs=jobs, hint="a job is read twice: give a file")
    given = _given(line)
    attempts = _number(line, "--attempts")
    if attempts:
        given["attempts"] = attempts
    from redoma.fleet.job_run import JobRun

    shown = "--quiet" not in line.flags and not line.json
    bar = ProgressBar(shown=shown, moves=os.isatty(2))
    return JobRun(jobs, results, show=bar.show, **given), bar


def _given(line: CommandLine) -> dict[str, Any]:
    """What a `Fleet` is made with."""
    refused = [name for name in FLEET.without.split() if _is_given(line, name)]
    if refused:
        raise UsageError("redoma fleet takes no {option}", option=refused[0], hint=FLEET.hint)
    workspace = line.values.pop("--workspace", "")
    _, given = sandbox_arguments(line)
    del given["ask"]
    if workspace:
        given["workspace"] = os.path.abspath(workspace)
    return {
        **given,
        "address": line.values.get("--address", ""),
        "slots": _number(line, "--slots"),
    }


def _is_given(line: CommandLine, name: str) -> bool:
    return name in line.flags or name in line.values or name in line.many


def _number(line: CommandLine, name: str) -> int | None:
    given = line.values.get(name)
    if given is None:
        return None
    if not (given.isascii() and given.isdigit() and 0 < int(given[:6]) < 100_000):
        raise UsageError("{name}: {given} is no number", name=name, given=given, hint=f"{name} 4")
    return int(given)


def _tell(line: CommandLine, ended: JobProgress) -> None:
    if line.json:
        told = {
            "total": ended.total,
            "done": ended.done,
            "failed": ended.failed,
            "resumed": ended.resumed,
            "left": ended.total - ended.done,
        }
        sys.stdout.write(json.dumps(told) + "\n")
    elif "--quiet" not in line.flags:
        said = Message(
            "{done} of {total} done, {failed} failed",
            done=ended.done,
            total=ended.total,
            failed=ended.failed,
        )
        sys.stderr.write(f"redoma: {phrased(said)}\n")


class ProgressBar:
    """How far a job is: a line that moves at a terminal, else one now and then."""

    def __init__(self, *, shown: bool, moves: bool) -> None:
        self._shown = shown
        self._moves = moves
        self._every = 0.2 if moves else 10.0
        self._last = 0.0
        self._open = False

    def show(self, now: JobProgress) -> None:
        """Shows it, where it was not shown just before."""
        if not self._shown or time.monotonic() - self._last < self._every:
            return
        self._last = time.monotonic()
        said = phrased(progress_text(now))
        if not self._moves:
            sys.stderr.write(f"redoma: {said}\n")
        else:
            whole = _BAR * now.done // max(1, now.total)
            sys.stderr.write(f"\r\x1b[K[{'#' * whole}{'.' * (_BAR - whole)}] {said}")
            self._open = True
        sys.stderr.flush()

    def say(self, prose: str) -> None:
        """A line between."""
        self.end()
        sys.stderr.write(f"redoma: {prose}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leaves the line that moves."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False


def progress_text(now: JobProgress) -> Message:
    """One line: done, running, failed, rate, and how long it will take."""
    left = now.seconds_left
    return Message(
        "{done}/{total} done, {running} running, {failed} failed, {rate}/s, {left} left",
        done=now.done,
        total=now.total,
        running=now.running,
        failed=now.failed,
        rate=f"{now.rate:.1f}",
        left="?" if left is None else duration(left),
    )


def duration(seconds: float) -> str:
    """A time as it is read at a glance: 45s, 3m10s, 2h05m."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


@FLEET.subcommand(
    "nodes", "[OPTION]...", "which nodes could take the work of these options, and why others not"
)
def _nodes(line: CommandLine) -> int:
    from redoma.fleet.fleet import surveyed

    rows = surveyed(**_given(line))
    if line.json:
        sys.stdout.write(
            json.dumps(
                [
                    {
                        "node": name,
                        "cpus": size.cpus,
                        "memory": size.memory,
                        "engine": suited.engine if suited else None,
                        "slots": suited.slots if suited else 0,
                        "why_not": why or None,
                    }
                    for name, _, size, suited, why in rows
                ]
            )
            + "\n"
        )
    else:
        for name, _, _, suited, why in rows:
            said = (
                Message(
                    "{slots} at a time by {engine}, each {memory} MiB",
                    slots=suited.slots,
                    engine=suited.engine,
                    memory=suited.share.memory >> 20,
                )
                if suited
                else Message("no work: {why}", why=Message(why))
            )
            sys.stdout.write(f"{name}  {phrased(said)}\n")
    return 0 if any(suited for *_, suited, _ in rows) else 126


@FLEET.subcommand(
    "apply",
    "RESULTS ITEM [--workspace DIR]",
    "makes what an item changed real here; redoma undo takes it back",
    most=2,
)
def _apply(line: CommandLine) -> int:
    from redoma.fleet.job_journal import JobFiles
    from redoma.fleet.returned_changes import applied_here, read_archive
    from redoma.pipeline.answerers import LocalAnswerer
    from redoma.pipeline.sandbox import Sandbox

    if len(line.words) < 2 or not (line.words[1].isascii() and line.words[1].isdigit()):
        raise UsageError("which item is not said", hint="redoma fleet apply RESULTS ITEM")
    archive = read_archive(f"{JobFiles(line.words[0]).changes}/{int(line.words[1])}.tar.gz")
    sandbox = Sandbox(line.values.get("--workspace", "."), ask=LocalAnswerer("auto"))
    result = applied_here(archive, sandbox).raise_for_outcome()
    made = result.changes.id if result.changes is not None else ""
    if line.json:
        told = {"item": int(line.words[1]), "transaction": made, "applied": result.applied}
        sys.stdout.write(json.dumps(told) + "\n")
    elif result.applied:
        sys.stderr.write(phrased(Message("redoma: applied; redoma undo {id}\n", id=made)))
    return 0


@FLEET.subcommand(
    "verify", "RESULTS", "whether the gathered audit log is as the nodes wrote it", most=1
)
def _verify(line: CommandLine) -> int:
    from redoma.fleet.gathered_rows import verified
    from redoma.fleet.job_journal import JobFiles

    if not line.words:
        raise UsageError("no file of results is given", hint="redoma fleet verify RESULTS")
    found, origins = verified(JobFiles(line.words[0]).audit)
    faults = [str(fault.text) for fault in found.faults]
    if line.json:
        told = {"rows": found.rows, "head": found.head, "workers": origins, "faults": faults}
        sys.stdout.write(json.dumps(told) + "\n")
    elif faults:
        for fault in faults:
            sys.stderr.write(f"redoma: {phrased(fault)}\n")
    else:
        said = Message(
            "{rows} rows of {workers} workers, each chain whole",
            rows=found.rows,
            workers=len(origins),
        )
        sys.stdout.write(f"{phrased(said)}\n")
    return 1 if faults else 0
