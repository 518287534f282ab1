"""Encloses with bubblewrap: the primary engine."""

from __future__ import annotations

import os
from _thread import allocate_lock
from contextlib import contextmanager, suppress

from redoma.base.paths import is_below
from redoma.jail.engines import bwrap_binary, hiding, program
from redoma.jail.engines.frame import Frame, memory_file, seen_through, words
from redoma.jail.engines.frame import build as build_frame
from redoma.jail.kernel import seccomp
from redoma.jail.kernel.process import is_machines_root
from redoma.jail.protect import git_repository, run_journal
from redoma.model.access import Grant, NetworkMode, Syscalls, Writes
from redoma.model.errors import EngineFailed
from redoma.model.plan import Handshake, Launch, RunPlan
from redoma.model.request import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import Protocol

    from redoma.egress.certificates import Authority
    from redoma.jail.engines.owned import Owned
    from redoma.jail.engines.shield import Raised, Shield
    from redoma.jail.kernel.stage import Stage
    from redoma.jail.overlay.store import Overlay
    from redoma.jail.protect.survey import Survey
    from redoma.model.guarantee import EngineReport
    from redoma.model.plan import Starter
    from redoma.model.result import HeldBack

    class Builder(Protocol):
        """Whoever builds the enclosure that is described here."""

        def foresee(self, frame: Frame, plan: RunPlan) -> None:
            """This frame will be needed in a moment: what can be done of it may be done now."""

        def start_of(
            self,
            frame: Frame,
            rest: list[str],
            command: tuple[str, ...],
            give: Callable[[int], str],
        ) -> tuple[tuple[str, ...], Starter | None]:
            """The command line to start, or who starts the command without one."""


_FIRST_FD = 100


class Enclosure:
    """One run: its launch, and the protection that is settled after it."""

    def __init__(
        self,
        launch: Launch,
        raised: list[Raised],
        notes: tuple[str, ...],
        entry: run_journal.RunEntry,
        layer: Overlay | None = None,
    ) -> None:
        self.launch = launch
        self.layer = layer
        self.notes = notes
        self._raised = raised
        self._entry = entry

    def settle(self) -> tuple[HeldBack, ...]:
        taken: list[HeldBack] = []
        while self._raised:
            taken += self._raised.pop(0).settle(quarantine)
        self._entry.end()
        return tuple(taken)


class Bubblewrap:
    """Namespaces, a root of its own, no capability, a filter of system calls."""

    name = "bubblewrap"

    def __init__(self) -> None:
        self.binary = ""
        # Whether the kernel lets an ordinary user mount overlays (5.11); found by trying.
        self.overlays = True
        self._lock = allocate_lock()
        self._frames: dict[tuple[object, ...], tuple[Frame, tuple[str, ...]]] = {}
        self._last: tuple[Grant, tuple[object, ...], tuple[Frame, tuple[str, ...]]] | None = None
        self._shields: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Shield] = {}
        self._filters: dict[tuple[Syscalls, bool, bool], bytes] = {}
        self._surveys: dict[str, Survey] = {}
        self._entries: list[run_journal.RunEntry] = []
        self._stage: Stage | None = None
        self._layered = False

    def probe(self) -> EngineReport:
        from redoma.jail.probe.bubblewrap import report

        return report(self)

    @property
    def as_nobody(self) -> bool:
        """Whether the command gets another kernel uid than the caller's, because that is 0."""
        return is_machines_root()

    def prepare(self, plan: RunPlan) -> AbstractContextManager[Enclosure]:
        """Everything bubblewrap needs, held open as long as the block lasts."""
        if not self.binary:
            self.binary = bwrap_binary.candidates()[0]
        return self.prepared(plan, self)

    @contextmanager
    def prepared(self, plan: RunPlan, builder: Builder) -> Iterator[Enclosure]:
        """The same for whoever builds the enclosure; what is protected is one for all of them."""
        with self._lock:
            frame, notes = self._frame(plan.grant, preview=plan.request.mode is Mode.PREVIEW)
        builder.foresee(frame, plan)
        if plan.grant.writes is not Writes.LAYER:
            with self._enclosed(plan, builder, frame, notes) as enclosure:
                yield enclosure
            return
        from redoma.jail.engines.covering import layer_over

        self._layered = True
        with (
            layer_over(plan.grant.workspace, frame, plan.request.onto) as layer,
            self._enclosed(plan, builder, frame, notes, layer) as enclosure,
        ):
            yield enclosure

    @contextmanager
    def _enclosed(
        self,
        plan: RunPlan,
        builder: Builder,
        frame: Frame,
        notes: tuple[str, ...],
        layer: Overlay | None = None,
    ) -> Iterator[Enclosure]:
        raised = self._raise(plan.grant, frame)
        cover: list[str] = []
        guarded: list[tuple[Raised | Owned, str]] = []
        guarded += zip(raised, dict(frame.writable).values(), strict=True)
        in_memory, before = plan.grant.writes is Writes.MEMORY, 0
        if layer is not None:
            from redoma.jail.engines import covering

            cover = covering.cover(layer, self._place, self._stage, self._show)
            guarded += covering.ours(layer, self._place, as_nobody=self.as_nobody)
            in_memory = layer.in_memory
            before = covering.used(layer.directory) if in_memory else 0
        fds: list[tuple[int, int]] = []
        mounts: list[str] = []

        def give(fd: int) -> str:
            fds.append((fd, _FIRST_FD + len(fds)))
            return str(_FIRST_FD + len(fds) - 1)

        def mount() -> None:
            for one, source in guarded:
                for option, fd, path in one.mounts(source):
                    mounts.extend((option, give(fd), path))
                mounts.extend(one.covers())
            if frame.as_they_are:
                from redoma.jail.engines.endpoints import covers_where_read

                mounts.extend(covers_where_read(frame, plan.grant, self._surveys))

        status, status_end = os.pipe()
        go_end, go = os.pipe()
        if builder is self:
            go_end = run_journal.without_end(go_end)
        rest = ["--json-status-fd", give(status_end), "--block-fd", give(go_end)]
        try:
            if self._stage is None or not any(one.needs_mounts for one, _ in guarded):
                mount()
            else:
                self._stage.call(mount)
            rest += ["--seccomp", give(memory_file(self._filter(plan)))]
            if not plan.terminal:
                rest.append("--new-session")  # Attack: TIOCSTI into the caller's terminal
            authority, named = None, list[str]()
            if plan.grant.network is NetworkMode.GATED and plan.grant.reach.opens_tls:
                authority, laid, named = self._certificates(give)
                mounts += laid
            rest += [*cover, *mounts, *frame.after, *named]
            rest += ["--chdir", plan.request.cwd or plan.grant.workspace]
            command = program.command(plan.request.workload, frame.path, frame.visible)
            argv, starter = builder.start_of(frame, rest, command, give)
            launch = Launch(
                argv=argv,
                starter=starter,
                entry=getattr(plan.request.workload, "entry", ()),
                env={},  # Attack: LD_PRELOAD would run in bubblewrap itself, outside
                fds=fds,
                handshake=Handshake(status=status, go=go),
                terminal=plan.terminal,
                limits=plan.grant.limits,
                in_memory=(*frame.forgotten, *((plan.grant.workspace,) if in_memory else ())),
                in_memory_before=before,
                over_disk=layer is not None and not layer.in_memory,
                temporary=frame.in_memory,
                complaint="bwrap: ",
                inside=self._stage.start if self._stage else None,
                trace_files=plan.trace_files,
                gate=plan.grant.reach if plan.grant.network is NetworkMode.GATED else None,
                authority=authority,
            )
            entry = self._entries.pop() if self._entries else run_journal.RunEntry()
            entry.begin([one.state() for one in raised] if plan.journaled else None)
            enclosure = Enclosure(launch, raised, notes, entry, layer)
            try:
                yield enclosure
            finally:
                enclosure.settle()
                self._entries.append(entry)
        finally:
            for fd in (status, go, *(fd for fd, _ in fds)):
                with suppress(OSError):
                    os.close(fd)

    def foresee(self, frame: Frame, plan: RunPlan) -> None:
        """Nothing can be done before everything is known: it is one program's start."""

    def start_of(
        self, frame: Frame, rest: list[str], command: tuple[str, ...], give: Callable[[int], str]
    ) -> tuple[tuple[str, ...], None]:
        """The command line that builds an enclosure and starts a command in it."""
        binary = self._stage.program(self.binary) if self._stage is not None else self.binary
        arguments = give(memory_file(words([*frame.base, *frame.before, *rest])))
        # The option does nothing: it says whose enclosure this is, to whoever starts next.
        whose = ("--unsetenv", run_journal.mark())
        return (binary, "--args", arguments, *whose, "--", *command), None

    def close(self) -> None:
        """Ends what this engine keeps ready, and any run that still uses it."""
        if self._stage is not None:
            self._stage.close()
            self._stage = None
        self._frames.clear()
        self._last = None
        if self._layered:
            from redoma.jail.overlay.store import remove_spares

            remove_spares()
        while self._entries:
            self._entries.pop().close()

    def _frame(self, grant: Grant, *, preview: bool) -> tuple[Frame, tuple[str, ...]]:
        # The view depends on the caller's home and search path as well.
        where: tuple[object, ...] = (
            os.environ.get("HOME"),
            os.environ.get("PATH"),
            "preview" if preview else None,
        )
        if self.as_nobody:
            # Where these are staged holds for what they were then, not for what replaced them.
            granted = (grant.workspace, *grant.writable, *grant.readable)
            where += tuple(_identity(path) for path in granted)
        if self._last is not None and self._last[0] is grant and self._last[1] == where:
            return self._last[2]  # the usual case, without hashing a whole grant
        key = (grant, where)
        known = self._frames.get(key)
        if known is None:
            keeps = grant.writes in (Writes.DIRECT, Writes.LAYER)
            outside = git_repository.repository_outside(grant.workspace) if keeps else ()
            # Of a preview nothing may last, wherever it is written.
            forgotten = outside if preview else ()
            outside = () if preview else outside
            widened = _with_writable(grant, outside)
            stage = self.staged() if self.as_nobody else None
            frame = build_frame(
                widened,
                place=self._place,
                show=self._show,
                read=self._read,
                base=stage.root if stage is not None else None,
                as_nobody=self.as_nobody,
                forgotten=forgotten,
            )
            notes = tuple(f"the repository of this worktree is writable: {p}" for p in outside)
            known = self._frames[key] = (frame, notes)
        self._last = (grant, where, known)
        return known

    def _place(self, path: str) -> str:
        """Where a source is found when bubblewrap mounts it."""
        if not self.as_nobody:
            return path
        status = os.stat(path)
        try:
            return self.staged().staged(path, status.st_uid, status.st_gid)
        except OSError as error:
            raise EngineFailed(
                f"the files of {path} cannot be shown as another user's: {error.strerror}",
                hint="run as an ordinary user, or hold what is written in an overlay",
            ) from error

    def _show(self, source: str, target: str) -> list[str]:
        """The mount of something that everybody may read, and through which nobody is reached.

        Attack: a read-only mount stops nobody from connecting to a socket in it. Root has mounts
        in which no owner has a name; anyone else has an overlay, whose sockets lead nowhere.
        """
        if self.as_nobody:
            return ["--ro-bind", self.staged().shown(source), target]
        if self.overlays and os.path.isdir(source):
            empty = hiding.empty_beside(source)
            return seen_through(empty, source, target)
        return ["--ro-bind", source, target]

    def _read(self, path: str) -> list[str]:
        """The mount of what was given to be read, as its owner reads it; nobody is reached there.

        Where something is mounted in it the kernel makes no overlay, and it is shown as it is:
        what listens there is then covered, one by one.
        """
        from redoma.jail.kernel.mounts import has_mounts

        source = self._place(path)
        if not self.overlays or not os.path.isdir(path) or has_mounts(path):
            return ["--ro-bind", source, path]
        empty = self.staged().empty if self.as_nobody else hiding.empty_beside(path)
        return seen_through(empty, source, path)

    def staged(self) -> Stage:
        if self._stage is None:
            from redoma.jail.kernel.stage import Stage

            self._stage = Stage()
        return self._stage

    def _raise(self, grant: Grant, frame: Frame) -> list[Raised]:
        raised = []
        for path, _ in frame.writable:
            key = (path, grant.writable, grant.protected)
            shield = self._shields.get(key)
            if shield is None:
                from redoma.jail.engines.shared_shield import shield_for

                made = shield_for(path, grant, as_nobody=self.as_nobody)
                shield = self._shields[key] = made
            below = tuple(p for p in grant.hidden if is_below(p, path))
            raised.append(shield.raised(below))
        return raised

    def _certificates(self, give: Callable[[int], str]) -> tuple[Authority, list[str], list[str]]:
        """An authority for one run, and the mounts and variables by which only that trusts it."""
        from redoma.egress import trust_store
        from redoma.jail import view

        made = trust_store.authority()
        data = trust_store.bundle(made)
        laid: list[str] = []
        for place in trust_store.places(view.etc()):
            laid += ["--perms", "0444", "--ro-bind-data", give(memory_file(data)), place]
        named = [w for name in trust_store.VARIABLES for w in ("--setenv", name, trust_store.OWN)]
        return made, laid, named

    def _filter(self, plan: RunPlan) -> bytes:
        grant = plan.grant
        counted = grant.limits.memory is None or "memory" in plan.controllers
        capped = grant.limits.total_written is not None
        key = (grant.syscalls, counted, capped)
        if key not in self._filters:
            strictest = grant.syscalls is Syscalls.STRICTEST
            self._filters[key] = seccomp.assemble(
                grant.syscalls,
                sockets=seccomp.Sockets.LOCAL_ONLY if strictest else seccomp.Sockets.USUAL,
                refuse_preallocation=capped,
                refuse_uncounted_memory=not counted,
            )
        return self._filters[key]


def _identity(path: str) -> tuple[int, int]:
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return (0, 0)


def _with_writable(grant: Grant, paths: tuple[str, ...]) -> Grant:
    if not paths:
        return grant
    from redoma.model.value import replace

    return replace(grant, writable=(*grant.writable, *paths))


def quarantine() -> str:
    """Where what one run made and may not keep is put."""
    from redoma.jail.protect.quarantine import quarantine_directory

    return quarantine_directory()
