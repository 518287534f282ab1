"""A preview's answer: what a command would do to files, to other machines and to databases."""

from __future__ import annotations

import os

from redoma.base.paths import is_below, is_within
from redoma.model.change import Changes
from redoma.model.message import Message
from redoma.model.request import Mode, Program
from redoma.model.result import Outcome, Result
from redoma.model.value import Value, replace
from redoma.pipeline.decisions.check import ground
from redoma.pipeline.foresight.contacts import reported
from redoma.pipeline.foresight.forecast import Foreseen, foresee, mocked
from redoma.pipeline.path import path
from redoma.pipeline.requests import request_for
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.steps import RunStepRunner, drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.pipeline.foresight.contacts import ReadFile
    from redoma.pipeline.run_context import SandboxConfig

    # How long this command took before, in seconds; None where nobody remembers.
    Duration = Callable[[str], float | None]

    class RunsOnOverlay(Protocol):
        """Runs a command, or what stands for it, with its writes held."""

        workspace: str
        # Paths that the command may write but that no overlay lies over: only read in a preview.
        not_held: tuple[str, ...]

        def __call__(self, command: str | Sequence[str], foreseen: Foreseen) -> Result: ...


_LARGEST_SCRIPT = 1 << 20


class DryRunReport(Value):
    """Everything a preview knows; the names of the first eight are the specified ones."""

    command: str
    would_execute: bool
    network_calls: tuple[str, ...] = ()
    database_operations: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    estimated_duration: str = ""
    rollback_available: bool = True
    changes: Changes
    result: Result
    # What ran in place of parts of the command, in words.
    ran_instead: tuple[str, ...] = ()
    # The command does more than change files: applying keeps the files, and does not do the rest.
    lasting: bool = False

    @property
    def id(self) -> str:
        """The name to apply or discard it by; empty where nothing is held."""
        return self.changes.id if self.changes.held else ""


def dry_run(
    command: str | Sequence[str],
    run: RunsOnOverlay,
    *,
    home: str | None = None,
    duration: Duration | None = None,
) -> DryRunReport:
    """Runs a command on an overlay and tells what it did and what it would have done beyond."""
    foreseen = foresee(_text(command), ground(run.workspace, home), reader(run.workspace))
    closed = tuple(
        Message("{path} could only be read: what would be written there is not shown", path=path)
        for path in run.not_held
    )
    foreseen = replace(
        foreseen,
        warnings=(*foreseen.warnings, *closed),
        lasting=foreseen.lasting or bool(closed),
    )
    result = run(command, foreseen)
    return report(_text(command), foreseen, result, run.workspace, duration)


def report_of_run(text: str, result: Result, config: SandboxConfig) -> DryRunReport:
    """The report on a command that has already run on an overlay, as it is and not as a trial."""
    foreseen = foresee(text, ground(config.root), reader(config.root))
    if result.outcome is Outcome.PREVIEWED:
        # A run that became this: the command ended by itself, and that it was one is plain here.
        result = replace(result, outcome=Outcome.EXITED, notes=result.notes[:-1])
    duration = RunContext(config).usual_seconds
    return report(text, replace(foreseen, command="", runs=()), result, config.root, duration)


def _text(command: str | Sequence[str]) -> str:
    return command if isinstance(command, str) else Program(argv=tuple(command)).shown


class OverlayRun:
    """How to run commands of one sandbox so that nothing of them lasts."""

    def __init__(
        self,
        config: SandboxConfig,
        *,
        stdin: bytes | int | None = b"",
        sink: Sink | None = None,
        control: Control | None = None,
        cwd: str = "",
        timeout: float | None = None,
        onto: str = "",
    ) -> None:
        """`onto` names stored changes that the run goes on from."""
        self.workspace = config.root
        self.not_held = tuple(
            path for path in config.overrides.writable if not is_within(path, config.root)
        )
        self._config = config
        self._stdin = stdin
        self._sink = sink
        self._control = control
        self._cwd = cwd
        self._timeout = timeout
        self._onto = onto

    def __call__(self, command: str | Sequence[str], foreseen: Foreseen) -> Result:
        """Judges the command; runs it, or what stands for it, with its writes held."""
        request = request_for(
            command,
            self._config.started_in(self._cwd),
            Mode.PREVIEW,
            self._config.caller,
            stdin=self._stdin,
        )
        request = replace(request, onto=self._onto)
        context = RunContext(
            self._config,
            self._timeout,
            instead=foreseen.command,
            mocks=foreseen.may_call,
            stdin=self._stdin,
        )
        runner = DryRunRunner(context, foreseen, sink=self._sink, control=self._control)
        return drive(path(request, context), runner)


class DryRunRunner(RunStepRunner):
    """Performs the steps of a preview: what was foreseen is stored with its changes."""

    def __init__(
        self,
        context: RunContext,
        foreseen: Foreseen,
        *,
        sink: Sink | None = None,
        control: Control | None = None,
    ) -> None:
        super().__init__(context, sink=sink, control=control)
        self._foreseen = foreseen
        self._workspace = context.config.root

    def finished(self, result: Result) -> Result:
        if result.changes is None:
            return result
        warnings = report("", self._foreseen, result, self._workspace).warnings
        return replace(result, changes=replace(result.changes, warnings=warnings))


def report(
    text: str,
    foreseen: Foreseen,
    result: Result,
    workspace: str,
    duration: Duration | None = None,
) -> DryRunReport:
    """What was foreseen and what was seen, put together."""
    ran = result.outcome not in (Outcome.DENIED, Outcome.DECLINED)
    held = result.changes or Changes(id="", workspace=workspace)
    pushed = reported(result.stderr) if foreseen.awaited else ()
    unheard = foreseen.awaited if foreseen.awaited and not pushed else ()
    foreseen = mocked(foreseen, result)
    warnings = [*foreseen.warnings, *held.warnings, *result.notes, *_endings(result)]
    if unheard and ran:
        warnings.append("what would be pushed is not known: the command did not come so far")
    warnings = list(dict.fromkeys(warnings))
    return DryRunReport(
        command=text,
        would_execute=ran,
        network_calls=(*foreseen.network_calls, *pushed, *unheard),
        database_operations=foreseen.database_operations,
        warnings=tuple(warnings),
        estimated_duration=_duration(text, result, duration),
        rollback_available=ran and not foreseen.lasting and not _beyond_the_layer(held),
        changes=replace(held, warnings=tuple(warnings)),
        result=result,
        ran_instead=foreseen.runs,
        lasting=foreseen.lasting,
    )


def reader(workspace: str) -> ReadFile:
    """Reads a script of the workspace for a look at it; never a file outside."""
    from redoma.jail.overlay.sides import read_file

    root = os.path.realpath(workspace)

    def read(directory: str, path: str) -> str | None:
        whole = os.path.normpath(os.path.join(directory, path))
        if not is_below(whole, root):
            return None
        data = read_file(root, whole[len(root) + 1 :], _LARGEST_SCRIPT)
        return None if data is None else data.decode("utf-8", "replace")

    return read


def _beyond_the_layer(held: Changes) -> bool:
    """Whether the command writes where no undo of ours reaches, such as a worktree's repository."""
    return any(warning.endswith((": not held", ": not shown")) for warning in held.warnings)


def _endings(result: Result) -> list[str]:
    """What cut the preview short, so that the command might do more than was seen."""
    if result.outcome in (Outcome.EXITED, Outcome.DENIED, Outcome.DECLINED, Outcome.CHECKED):
        failed = result.exit is not None and result.exit.code not in (0, None)
        return (
            [Message("the command ended with status {status}", status=result.exit_code)]
            if failed
            else []
        )
    return [Message("the preview was cut short: {outcome}", outcome=Message(result.outcome.words))]


def _duration(text: str, result: Result, duration: Duration | None) -> str:
    """How long it took before; where nobody remembers, how long it took just now."""
    known = duration(text) if duration is not None else None
    if known is not None:
        return f"{known:.1f}s"
    if result.exit is None:
        return "unknown"
    return Message("{seconds}s in this preview", seconds=f"{result.exit.used.wall_seconds:.1f}")
