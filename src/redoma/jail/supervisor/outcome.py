"""Turns what the supervisor saw at the end of a run into one outcome."""

from __future__ import annotations

import os
import time
from resource import RUSAGE_SELF, getrusage

from redoma.base import signals
from redoma.base.log import logger
from redoma.jail.supervisor.limiter import free_on, full
from redoma.jail.supervisor.streams import ANSWER
from redoma.model.errors import EngineFailed
from redoma.model.message import Message
from redoma.model.result import Exit, Outcome, ResourcesUsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from resource import struct_rusage

    from redoma.jail.supervisor.run import Supervisor

log = logger(__name__)
_BLOCK = 512
_FULL = 1 << 20  # less than this on a disk, and something was refused it
_LAUNCHER = 64 << 20  # more than an interpreter that starts commands by forking
# How a run ends that was past a limit which nothing in the kernel holds.
PAST = {
    "memory": Outcome.OUT_OF_MEMORY,
    "total_written": Outcome.DISK_FULL,
    "keep_free": Outcome.DISK_FULL,
    "cpu_seconds": Outcome.CPU_TIME_SPENT,
}
_BY_LIMIT = {
    **PAST,
    "processes": Outcome.TOO_MANY_PROCESSES,
    "file_size": Outcome.DISK_FULL,
    "temporary": Outcome.DISK_FULL,
}
_BY_SIGNAL = {signals.SIGXFSZ: ("file_size",), signals.SIGXCPU: ("cpu_seconds",)}


class RunEnd:
    """What is known so far about how a run ended."""

    def __init__(self) -> None:
        self.outcome: Outcome | None = None
        self.reached: list[str] = []
        self.status = 0
        self.usage: struct_rusage | None = None
        self.tree_usage: struct_rusage | None = None
        # Signals that were handed on to the command.
        self.handed_on: set[int] = set()

    @property
    def said(self) -> bool:
        return self.outcome is not None

    def say(self, outcome: Outcome, limit: str) -> None:
        """We ended it, because of this; the first reason counts."""
        if self.outcome is None:
            self.outcome = outcome
        if limit and limit not in self.reached:
            self.reached.append(limit)

    def reaped(self, status: int, usage: struct_rusage) -> None:
        self.status, self.usage = status, usage

    def tree_reaped(self, usage: struct_rusage) -> None:
        """What the sandbox's first process and all below it used."""
        self.tree_usage = usage

    def exit(self, run: Supervisor, status: bytes) -> Exit:
        """The whole end as a value."""
        self._met(run.limiter.reached())
        # An engine that holds limits itself says on its own channel which were met.
        held = ("memory", "processes")
        self._met(name for name in held if b'"reached": "%s"' % name.encode() in status)
        code, number = self._code(run, status)
        if run.watch is not None:
            self._met(run.watch.seen)
        truncated = any(output.truncated for output in run.outputs)
        self._met(["output"] if any(output.limited for output in run.outputs) else [])
        self._met(_BY_SIGNAL.get(number or 0, ()))
        used = self._used(run)
        self._met(self._past(run, used))
        outcome = self._outcome(number)
        log.info("a command ended: %s; limits met: %s", outcome.value, self.reached or "none")
        return Exit(
            outcome=outcome,
            code=code,
            signal=number,
            stdout=next((o.data for o in run.outputs if o.number == 1), b""),
            stderr=next((o.data for o in run.outputs if o.number == 2), b""),
            truncated=truncated,
            limits_reached=tuple(self.reached),
            limited_by=run.limiter.mechanisms(),
            used=used,
            notes=_notes(run),
            unread=tuple(output.number for output in run.outputs if output.unread),
            network_calls=run.gate.close() if run.gate is not None else None,
            refused=run.trace.refused() if run.trace is not None else (),
            answer=next((o.data for o in run.outputs if o.number == ANSWER), b""),
        )

    def _met(self, limits: Iterable[str]) -> None:
        self.reached += [name for name in limits if name not in self.reached]

    def _past(self, run: Supervisor, used: ResourcesUsed) -> list[str]:
        """What the whole tree used up, by the kernel's own sums: no look had to be in time."""
        limits = run.launch.limits
        found = []
        if limits.total_written is not None and used.bytes_written > limits.total_written:
            found.append("total_written")
        # Who met the limit of a process has spent all of it, and the tree at least as much; but the
        # kernel ends it by ticks, which may be a tenth ahead of what it counts in the end.
        if limits.cpu_seconds is not None and used.cpu_seconds >= limits.cpu_seconds * 0.9 - 0.1:
            found.append("cpu_seconds")
        if limits.memory is not None and "memory" not in run.limiter.held:
            # Before it became the command it was as large as whoever started it.
            before = max(_LAUNCHER, getrusage(RUSAGE_SELF).ru_maxrss * 1024)
            if self._largest() > max(limits.memory, before):
                found.append("memory")
        if limits.keep_free is not None:
            least = run.watch.keep if run.watch is not None else _FULL
            if free_on(run.directory) < min(least, limits.keep_free):
                found.append("keep_free")
        return [*found, *full(run.temporary)]

    def _largest(self) -> int:
        usage = self.tree_usage or self.usage
        return usage.ru_maxrss * 1024 if usage is not None else 0

    def _code(self, run: Supervisor, status: bytes) -> tuple[int | None, int | None]:
        if self.outcome is not None:
            return None, signals.SIGKILL
        code = os.waitstatus_to_exitcode(self.status)
        if run.launch.handshake is not None and b'"exit-code"' not in status:
            # A signal met the command in the moment before its program started.
            if code - 128 in self.handed_on:
                return None, code - 128
            # Where memory ran out, the sandbox's own first process may have been the one to go.
            if code >= 0 and run.launch.complaint and "memory" not in self.reached:
                said = b"".join(o.data for o in run.outputs).decode(errors="replace").strip()
                raise EngineFailed(
                    "the sandbox could not be set up: {why}",
                    why=Message(said),
                    hint="redoma doctor",
                )
            return None, -code if code < 0 else signals.SIGKILL
        if code < 0:
            return None, -code
        # The launcher says 128 + n for a command that signal n ended, as a shell does.
        if code > 128 and code - 128 <= signals.LAST and run.launch.handshake is not None:
            return None, code - 128
        return code, None

    def _outcome(self, number: int | None) -> Outcome:
        if self.outcome is not None:
            return self.outcome
        # Whatever the command makes of it: a shell goes on after what a limit cut short.
        for limit in self.reached:
            if limit in _BY_LIMIT:
                return _BY_LIMIT[limit]
        return Outcome.SIGNALLED if number is not None else Outcome.EXITED

    def _used(self, run: Supervisor) -> ResourcesUsed:
        usage = self.tree_usage or self.usage
        if usage is None:
            return ResourcesUsed()
        watched = run.watch.peak_memory if run.watch is not None else 0
        written = run.watch.bytes_written if run.watch is not None else 0
        # What is forked begins as large as its parent; where a group counts, that is known better.
        group = run.limiter.group
        counted = group is not None and "memory" in group.places
        forked = run.launch.starter is not None
        largest = 0 if forked and counted else usage.ru_maxrss * 1024
        return ResourcesUsed(
            wall_seconds=time.monotonic() - run.began,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_memory=run.limiter.peak_memory(max(largest, watched)),
            bytes_written=max(usage.ru_oublock * _BLOCK, written),
            output_bytes=sum(output.total for output in run.outputs),
            files_accessed=run.trace.files() if run.trace is not None else None,
        )


def _notes(run: Supervisor) -> tuple[str, ...]:
    notes = run.trace.notes() if run.trace is not None else ()
    if run.gate is not None:
        notes = (*notes, *run.gate.notes)
    if run.outlet is not None and run.outlet.abandoned:
        from redoma.jail.supervisor.streams import ABANDONED

        return (*notes, ABANDONED)
    return notes
