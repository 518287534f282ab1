"""What every engine is, and the sandbox that it prepares for one run."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol

    from redoma.jail.overlay.store import Overlay
    from redoma.jail.probe.trial import TrialRunner
    from redoma.jail.protect.protected_paths import RunProtection
    from redoma.jail.protect.run_journal import RunEntry
    from redoma.model.grant import EngineReport, Launch, RunPlan
    from redoma.model.result import Quarantined

    class Engine(Protocol):
        """One way to confine a command; `registry` declares what it can do."""

        name: str

        def probe(self, run: TrialRunner) -> EngineReport:
            """What it enforces here, found by running something in it with `run`."""

        def probe_identity(self) -> str:
            """What the probe's findings depend on beside the machine: the files it starts."""

        def adopt(self, report: EngineReport) -> None:
            """Uses what a probe found: the program that worked, and how."""

        def prepare(self, plan: RunPlan) -> AbstractContextManager[PreparedSandbox]:
            """Builds what is needed to start a run; never starts it."""

        def close(self) -> None:
            """Ends what is kept ready for further runs."""


class PreparedSandbox:
    """One run's sandbox before it starts: how to start it, and what to take back after it."""

    def __init__(
        self,
        launch: Launch,
        protections: list[RunProtection],
        notes: tuple[str, ...] = (),
        *,
        entry: RunEntry | None = None,
        overlay: Overlay | None = None,
    ) -> None:
        self.launch = launch
        # Where the run's writes are held, if they are; whoever runs it sees to it afterwards.
        self.overlay = overlay
        self.notes = notes
        self._protections = protections
        self._entry = entry

    def settle(self) -> tuple[Quarantined, ...]:
        """Takes back what the command made where it may not; called when the tree is dead."""
        taken: list[Quarantined] = []
        while self._protections:
            taken += self._protections.pop(0).settle()
        if self._entry is not None:
            self._entry.end()
        return tuple(taken)


def file_stamp(path: str) -> str:
    """A word that is another one as soon as the file at a path is."""
    try:
        status = os.stat(path)
    except OSError:
        return f"{path}:gone"
    return f"{path}:{status.st_mtime_ns}:{status.st_size}"
