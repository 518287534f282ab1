"""Puts a run's limits on its first process, and says afterwards which of them were met.

Finds out after a run whether a file met the limit of its size.

The kernel tells nobody but the process itself, by a signal that it may ignore, and by an error. But
what is cut has exactly the size of the limit: so the files that were written are looked at.
"""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress

from redoma.jail.kernel.process import rlimits_of, soft_and_hard
from redoma.model.change import FileKind
from redoma.model.errors import EngineFailed
from redoma.model.grant import Limits, Writes
from redoma.model.result import Outcome
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.jail.kernel.cgroups import Group, Groups
    from redoma.model.change import Changes
    from redoma.model.grant import Grant
    from redoma.model.result import Exit


OTHERWISE = {
    "memory": "rlimit for each process, the tree watched",
    "address_space": "rlimit for each process",
    "processes": "rlimit in its own user namespace",
    "cpu_seconds": "rlimit for each process, the tree watched",
    "open_files": "rlimit",
    "file_size": "rlimit",
    "total_written": "watched",
    "keep_free": "watched",
    "temporary": "tmpfs size",
    "wall_seconds": "supervisor",
    "output": "supervisor",
    "output_total": "supervisor",
}
_LONGEST_MADE = 0.05
_SMALL = 4  # pages: what has no room by its nature
# What is looked at while it runs: to end a run that is past it, or to say that it was met.
_WATCHED = (
    "memory",
    "processes",
    "cpu_seconds",
    "open_files",
    "total_written",
    "keep_free",
    "temporary",
)


class Limiter:
    """Limits of one run: a control group where there is one, resource limits always."""

    def __init__(self, limits: Limits, groups: Groups | None, held: frozenset[str]) -> None:
        self.limits = limits
        self._groups = groups
        self.group: Group | None = None
        self._inside = self._asked = False
        self.held = held
        if groups is not None and not held:
            try:
                group = groups.take(limits)
                self.group = group
                self.held = group.limit(limits)
            except OSError as error:
                raise EngineFailed(
                    "a control group could not be made: {error}", error=error, hint="redoma doctor"
                ) from error
            # Planned as held by the group: anything less would be a weaker run than was promised.
            lost = _wanted(limits, groups.controllers) - self.held
            if lost:
                self.release()
                raise EngineFailed(
                    "the control group does not take a limit of {lost}",
                    lost=", ".join(sorted(lost)),
                    hint="redoma doctor",
                )

    def starting_inside(self, start: Callable[[], int]) -> Callable[[], int]:
        """The same start, in the control group; for a thread that is the sandbox's own."""
        group = self.group
        if group is None or group.version != 1:
            return start
        enter, leave = group.procs_files()
        self._inside = True

        def inside() -> int:
            for fd in enter:
                os.write(fd, b"0")
            try:
                return start()
            finally:
                for fd in leave:
                    os.write(fd, b"0")

        return inside

    def cgroup_files(self) -> list[int]:
        """Descriptors by which a process moves itself into the control group; ours to keep."""
        self._inside = True
        return self.group.procs_files()[0] if self.group is not None else []

    def apply(self, pid: int) -> int:
        """Holds the process that will become the command; 0 when that is done."""
        self.enter(pid)
        for kind, soft, hard in self.own_limits():
            resource.prlimit(pid, kind, (soft, hard))
        return 0

    def own_limits(self) -> list[tuple[int, int, int]]:
        """The kind, the soft and the hard value of each limit that a process has by itself."""
        return [(kind, *soft_and_hard(kind, value)) for kind, value in self._resource_limits()]

    def enter(self, pid: int) -> None:
        """Moves the process into the control group, if there is one and it is not there yet."""
        if self.group is not None and not self._inside:
            self.group.enter(pid)

    def _resource_limits(self) -> list[tuple[int, int]]:
        limits = self.limits
        found = rlimits_of(limits)
        if limits.processes is not None and "processes" not in self.held:
            # Counted for this sandbox alone, since its user namespace is its own.
            found.append((resource.RLIMIT_NPROC, limits.processes + 1))
        if limits.memory is not None and "memory" not in self.held:
            found.append((resource.RLIMIT_DATA, limits.memory))
        return found

    @property
    def watched(self) -> frozenset[str]:
        """Limits that nothing in the kernel holds for the tree as a whole."""
        return frozenset(
            name
            for name in _WATCHED
            if getattr(self.limits, name) is not None and name not in self.held
        )

    def reached(self) -> list[str]:
        """Which limits the control group saw being met, since it was last asked."""
        self._asked = True
        found = []
        if self.group is not None:
            if self.group.out_of_memory():
                found.append("memory")
            if self.group.too_many_processes():
                found.append("processes")
        return found

    def peak_memory(self, largest_process: int) -> int:
        peak = self.group.peak_memory() if self.group is not None else 0
        return max(peak, largest_process)

    def mechanisms(self) -> tuple[tuple[str, str], ...]:
        """Which mechanism held each limit, in words."""
        by_group = self._groups.words if self.group is not None and self._groups else "systemd"
        found = []
        for name in self.limits._fields:
            if getattr(self.limits, name) is None:
                continue
            if name in self.held:
                found.append((name, by_group))
            elif name in OTHERWISE:
                found.append((name, OTHERWISE[name]))
        return tuple(found)

    def release(self) -> None:
        if self.group is not None and self._groups is not None:
            if not self._asked:
                self.reached()  # so that the next run is not blamed for this one
            self._groups.give_back(self.group)
            self.group = None


def _wanted(limits: Limits, controllers: frozenset[str]) -> frozenset[str]:
    pairs = (("memory", "memory"), ("processes", "pids"), ("cpu_percent", "cpu"))
    return frozenset(
        name for name, key in pairs if getattr(limits, name) is not None and key in controllers
    )


def opened_below(roots: tuple[str, ...], paths: tuple[str, ...]) -> list[int]:
    """Directories that are file systems of their own; a descriptor outlives their namespace."""
    found = []
    for path in paths:
        for root in roots:
            with suppress(OSError):
                fd = os.open(root + path, os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY)
                if not os.path.exists(path) or os.fstat(fd).st_dev != os.stat(path).st_dev:
                    found.append(fd)
                    break
                os.close(fd)  # the machine's own: the root inside does not stand yet
    return found


def standing(first: int, paths: tuple[str, ...]) -> list[int]:
    """The same of a sandbox that is being made: its last mount comes before the command."""
    until = time.monotonic() + _LONGEST_MADE
    while True:
        found = opened_below((f"/proc/{first}/root",), paths)
        if len(found) == len(paths) or time.monotonic() > until:
            return found
        for fd in found:
            os.close(fd)
        time.sleep(0.0002)


def full(temporary: list[int]) -> list[str]:
    """`temporary` where one of these file systems has no room left: something was refused it."""
    for fd in temporary:
        with suppress(OSError):
            status = os.statvfs(fd)
            # Of what is cut in the middle of a page, a page may be left.
            if status.f_blocks > _SMALL and status.f_bfree <= 1:
                return ["temporary"]
    return []


def free_on(directory: str) -> int:
    """The bytes that are left to whoever writes there."""
    try:
        status = os.statvfs(directory)
    except OSError:
        return 0
    return status.f_bavail * status.f_frsize


_REALTIME_COARSE = 5
_LONGEST = 2.0
_LONGEST_BEFORE = 0.25
_MORE = 4096
NOT_SEEN = "the workspace is too large to see whether a file in it met the limit of its size"


def clock() -> int:
    """Now, as the kernel writes it into files."""
    return time.clock_gettime_ns(_REALTIME_COARSE)


def seen(ended: Exit, grant: Grant, changes: Changes | None, began: int) -> Exit:
    """The end of a run, with `file_size` among its limits where a file that it wrote met that.

    `began` is what the clock of files showed before.
    """
    limit = grant.limits.file_size
    if limit is None or "file_size" in ended.limits_reached:
        return ended
    notes = ended.notes
    met = changes is not None and _in_overlay(changes, limit)
    if not met:
        direct = (grant.workspace,) if grant.writes is Writes.DIRECT else ()
        try:
            met = any(_below(place, limit, began) for place in (*direct, *grant.writable))
        except TimeoutError:
            notes = (*notes, NOT_SEEN)
    if not met:
        return ended if notes == ended.notes else replace(ended, notes=notes)
    by_itself = ended.outcome in (Outcome.EXITED, Outcome.SIGNALLED)
    return replace(
        ended,
        outcome=Outcome.DISK_FULL if by_itself else ended.outcome,
        limits_reached=(*ended.limits_reached, "file_size"),
        notes=notes,
    )


def with_existing(limits: Limits, grant: Grant) -> Limits:
    """The limits that the kernel is given: what is there already can be touched.

    An overlay copies a file before its first change, and the kernel holds that copy to the size
    that its writer may write. So nobody is held below the largest file there is; whether one grew
    past the limit is seen afterwards.
    """
    if limits.file_size is None or grant.writes not in (Writes.LAYER, Writes.MEMORY):
        return limits
    try:
        largest = max(_sizes(grant.workspace, _LONGEST_BEFORE), default=0)
    except TimeoutError:
        return replace(limits, file_size=None)
    if largest < limits.file_size:
        return limits
    # A little more: what is added to that file is then seen by its size.
    return replace(limits, file_size=largest + _MORE)


def _in_overlay(changes: Changes, limit: int) -> bool:
    for item in changes.items:
        after, before = item.after, item.before
        if after is None or after.kind is not FileKind.FILE or after.size < limit:
            continue
        # What was as large before, and was only touched, met nothing.
        if before is None or after.size == limit or after.size > before.size:
            return True
    return False


def _below(place: str, limit: int, began: int) -> bool:
    """Whether a file below a directory has that size and was written since the run began."""
    return any(size >= limit for size in _sizes(place, _LONGEST, began))


def _sizes(place: str, longest: float, began: int = 0) -> Iterator[int]:
    """The sizes of all files below a directory that changed after `began`."""
    until = time.monotonic() + longest
    pending = [place]
    while pending:
        if time.monotonic() > until:
            raise TimeoutError
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    # A file without blocks, such as kcore of a /proc below a home, is no one's.
                    if found.st_ctime_ns > began and (found.st_blocks or not found.st_size):
                        yield found.st_size
