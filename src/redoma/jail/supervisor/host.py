"""This machine: its engines, what each was found to enforce, and the control groups we may make.

Lets a run's mounts go beside the work, not before its result is given.

When an overlay is unmounted the kernel writes the whole file system below it to disk, whoever else
filled it, and the last process of the run would wait for that. So its mounts are held from outside
until it is gone, and given up a little later by a thread that nobody waits for: several at once,
since for all but the first there is nothing left to write.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, start_new_thread
from contextlib import suppress

from redoma.base.log import logger
from redoma.jail.engines.registry import Engines, declared, engine_name
from redoma.jail.kernel.cgroups import Groups, find
from redoma.jail.probe import reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.prepared_sandbox import Engine
    from redoma.model.grant import EngineReport


log = logger(__name__)


class Host:
    """Engines, their reports, and the control groups of this process."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self.engines = Engines()
        self._reports: dict[str, EngineReport] = {}
        self._groups: Groups | None = None
        self._looked_for_groups = False
        # Whether this process has run a command: from then on it pays to keep a forkserver.
        self.has_run = False

    def engine(self, name: str) -> Engine:
        """The engine with this name."""
        return self.engines.engine(name)

    def report(self, name: str, *, anew: bool = False) -> EngineReport:
        """What an engine enforces here: as remembered, or by trying it."""
        name = engine_name(name)
        if name not in self._reports or anew:
            engine = self.engines.engine(name)
            caps_itself = declared(name).caps_itself
            key = engine.probe_identity()
            if caps_itself:
                key += f" {os.environ.get('XDG_RUNTIME_DIR', '')}"
            report = None if anew else reports.recalled_report(name, key)
            if report is None:
                from redoma.jail.supervisor.run import run

                report = engine.probe(run)
                log.info("engine %s tried: %s", name, "usable" if report.usable else "not usable")
                # What does not work may be mended at any moment; but where memory can only be
                # watched, every start would ask systemd anew. `redoma doctor` does.
                if report.usable or (caps_itself and declared(name).by_default):
                    reports.remember_report(report, key)
            self._reports[name] = report
            engine.adopt(report)
        return self._reports[name]

    def groups(self) -> Groups | None:
        """The control groups that this process may make, or None."""
        if not self._looked_for_groups:
            self._looked_for_groups = True
            key = reports.text_of("/proc/self/cgroup").replace("\n", " ")
            known = reports.recalled("groups", key)
            if known is None:
                from redoma.jail.kernel.cgroups import can_enter

                self._groups = find(can_enter)
                lines = []
                if self._groups is not None:
                    lines = [f"version\t{self._groups.version}"]
                    lines += [f"{k}\t{v}" for k, v in self._groups.places.items()]
                reports.remember("groups", key, lines)
            elif known:
                pairs = dict(line.split("\t", 1) for line in known)
                version = int(pairs.pop("version"))
                self._groups = Groups(pairs, version)
            if self._groups is not None:
                self._groups.clean()
        return self._groups

    def controllers(self) -> frozenset[str]:
        """What control groups can limit here."""
        groups = self.groups()
        return groups.controllers if groups is not None else frozenset()

    def forget(self, name: str) -> None:
        """Has an engine tried again next time, since it failed where it was trusted."""
        self._reports.pop(name, None)
        reports.forget(f"engine-{name}")

    def close(self) -> None:
        """Removes what this process keeps ready for runs; a forked child leaves it alone."""
        if os.getpid() != self._owner:
            return
        self.engines.close()
        if self._groups is not None:
            self._groups.close()


LATER = 0.25
_lock = allocate_lock()
_waiting: list[int] = []


class MountHold:
    """The mount namespace of one run."""

    def __init__(self, pid: int) -> None:
        self._fd = -1
        with suppress(OSError):  # then it ends as any run does, only later
            self._fd = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def let_go(self) -> None:
        """Gives the mounts up; the kernel takes them away when it has the time."""
        if self._fd < 0:
            return
        with _lock:
            _waiting.append(self._fd)
            alone = len(_waiting) == 1
        self._fd = -1
        if alone:
            start_new_thread(_later, ())


def _later() -> None:
    time.sleep(LATER)
    with _lock:
        fds = list(_waiting)
        _waiting.clear()
    for fd in fds:
        os.close(fd)


def _in_a_child() -> None:
    """A forked child has no such thread, nor anyone who holds the lock."""
    global _lock  # noqa: PLW0603 — the parent's may be held for ever
    _lock = allocate_lock()
    while _waiting:
        os.close(_waiting.pop())


os.register_at_fork(after_in_child=_in_a_child)
