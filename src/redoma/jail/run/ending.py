"""Turns what was seen at the end of a run into one outcome."""

from __future__ import annotations

import os
import time

from redoma.jail.run.streams import ANSWER
from redoma.model import signals
from redoma.model.errors import EngineFailed
from redoma.model.result import Exit, Outcome, ResourcesUsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from resource import struct_rusage

    from redoma.jail.run.supervise import Supervisor

_BLOCK = 512
# How a run ends that was past a limit which nothing in the kernel holds.
PAST = {
    "memory": Outcome.OUT_OF_MEMORY,
    "total_written": Outcome.DISK_FULL,
    "cpu_seconds": Outcome.CPU_TIME_SPENT,
}
_BY_LIMIT = {"memory": Outcome.OUT_OF_MEMORY, "processes": Outcome.TOO_MANY_PROCESSES}


class Ending:
    """What is known so far about how a run ended."""

    def __init__(self) -> None:
        self.outcome: Outcome | None = None
        self.reached: list[str] = []
        self.status = 0
        self.usage: struct_rusage | None = None
        self.tree_usage: struct_rusage | None = None

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
        """What the enclosure's first process and all below it used."""
        self.tree_usage = usage

    def exit(self, run: Supervisor, status: bytes) -> Exit:
        """The whole end as a value."""
        for limit in run.limiter.reached():
            if limit not in self.reached:
                self.reached.append(limit)
        # An engine that holds limits itself says on its own channel which were met.
        for limit in ("memory", "processes"):
            if b'"reached": "%s"' % limit.encode() in status and limit not in self.reached:
                self.reached.append(limit)
        code, number = self._code(run, status)
        if run.watch is not None:
            self.reached += [name for name in run.watch.seen if name not in self.reached]
        truncated = any(output.truncated for output in run.outputs)
        if truncated:
            self.reached.append("output")
        if number == signals.SIGXFSZ:
            self.reached.append("file_size")
        if number == signals.SIGXCPU:
            self.reached.append("cpu_seconds")
        used = self._used(run)
        total = run.launch.limits.total_written
        if total is not None and used.bytes_written > total and "total_written" not in self.reached:
            self.reached.append("total_written")
        return Exit(
            outcome=self._outcome(code, number),
            code=code,
            signal=number,
            stdout=next((o.data for o in run.outputs if o.number == 1), b""),
            stderr=next((o.data for o in run.outputs if o.number == 2), b""),
            truncated=truncated,
            limits_reached=tuple(self.reached),
            limited_by=run.limiter.mechanisms(),
            used=used,
            notes=_notes(run),
            network_calls=run.gate.close() if run.gate is not None else None,
            answer=next((o.data for o in run.outputs if o.number == ANSWER), b""),
        )

    def _code(self, run: Supervisor, status: bytes) -> tuple[int | None, int | None]:
        if self.outcome is not None:
            return None, signals.SIGKILL
        code = os.waitstatus_to_exitcode(self.status)
        if run.launch.handshake is not None and b'"exit-code"' not in status:
            # Where memory ran out, the enclosure's own first process may have been the one to go.
            if code >= 0 and run.launch.complaint and "memory" not in self.reached:
                said = b"".join(o.data for o in run.outputs).decode(errors="replace").strip()
                raise EngineFailed(
                    f"the enclosure could not be set up: {said}", hint="redoma doctor"
                )
            return None, -code if code < 0 else signals.SIGKILL
        if code < 0:
            return None, -code
        # The launcher says 128 + n for a command that signal n ended, as a shell does.
        if code > 128 and code - 128 <= signals.LAST and run.launch.handshake is not None:
            return None, code - 128
        return code, None

    def _outcome(self, code: int | None, number: int | None) -> Outcome:
        if self.outcome is not None:
            return self.outcome
        if code != 0:
            for limit in self.reached:
                if limit in _BY_LIMIT:
                    return _BY_LIMIT[limit]
        if number == signals.SIGXFSZ:
            return Outcome.DISK_FULL
        if number == signals.SIGXCPU:
            return Outcome.CPU_TIME_SPENT
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
        from redoma.jail.run.outlet import ABANDONED

        return (*notes, ABANDONED)
    return notes
