"""Prepares sandboxes of namespaces: one description of the sandbox, whoever builds it.

Bubblewrap and the forkserver get the same arguments, so both hold the same; and what is protected
is kept once for both.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from contextlib import contextmanager, suppress

from redoma.base.paths import is_below
from redoma.jail.engines import hidden_paths
from redoma.jail.engines.frame import Frame, memory_file, seen_through
from redoma.jail.engines.frame import build as build_frame
from redoma.jail.engines.prepared_sandbox import PreparedSandbox, command_of, secret_variables
from redoma.jail.kernel import seccomp
from redoma.jail.kernel.process import is_machines_root
from redoma.jail.protect import git_repository, run_journal
from redoma.model.errors import EngineFailed
from redoma.model.grant import (
    SECRETS,
    Grant,
    Handshake,
    Launch,
    NetworkMode,
    RunPlan,
    Syscalls,
    Writes,
)
from redoma.model.request import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Protocol

    from redoma.egress.certificates import Authority
    from redoma.jail.kernel.stage import Stage
    from redoma.jail.overlay.store import Overlay
    from redoma.jail.protect.covers import OwnPartMounts
    from redoma.jail.protect.protected_paths import ProtectedPaths, RunProtection
    from redoma.jail.protect.survey import Survey
    from redoma.model.grant import Starter

    class Builder(Protocol):
        """Whoever builds the sandbox that is described here."""

        # Bytes on standard error with which it says that it could not build it.
        complaint: str
        # Whether it takes the end of what it waits on for the word to begin.
        begins_at_end: bool

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


class NamespacePreparer:
    """What runs in namespaces share: frames, protected paths, filters, and the stage of root."""

    def __init__(self) -> None:
        # Whether the kernel lets an ordinary user mount overlays (5.11); found by trying.
        self.overlays = True
        # Why changes are held in a copy of the workspace and not in an overlay; nothing: they
        # are held in an overlay where one can be had.
        self.copies = ""
        self._lock = allocate_lock()
        self._frames: dict[tuple[object, ...], tuple[Frame, tuple[str, ...]]] = {}
        self._last: tuple[Grant, tuple[object, ...], tuple[Frame, tuple[str, ...]]] | None = None
        self._protected: dict[tuple[str, tuple[str, ...], tuple[str, ...]], ProtectedPaths] = {}
        self._filters: dict[tuple[Syscalls, bool, bool], bytes] = {}
        self._surveys: dict[str, Survey] = {}
        self._entries: list[run_journal.RunEntry] = []
        self._stage: Stage | None = None
        self._overlaid = False

    @property
    def as_nobody(self) -> bool:
        """Whether the command gets another kernel uid than the caller's, because that is 0."""
        return is_machines_root()

    @contextmanager
    def prepare(self, plan: RunPlan, builder: Builder) -> Iterator[PreparedSandbox]:
        """Everything that a builder needs, held open as long as the block lasts."""
        with self._lock:
            frame, notes = self._frame(plan.grant, preview=plan.request.mode is Mode.PREVIEW)
        builder.foresee(frame, plan)
        if plan.grant.writes is not Writes.LAYER:
            with self._prepared(plan, builder, frame, notes) as prepared:
                yield prepared
            return
        from redoma.jail.engines.run_overlay import overlay_over

        self._overlaid = True
        with (
            overlay_over(
                plan.grant.workspace, frame, plan.request.onto, copied=self.copies
            ) as overlay,
            self._prepared(plan, builder, frame, notes, overlay) as prepared,
        ):
            yield prepared

    @contextmanager
    def _prepared(
        self,
        plan: RunPlan,
        builder: Builder,
        frame: Frame,
        notes: tuple[str, ...],
        overlay: Overlay | None = None,
    ) -> Iterator[PreparedSandbox]:
        protections = self._protections(plan.grant, frame)
        cover: list[str] = []
        guarded: list[tuple[RunProtection | OwnPartMounts, str]] = []
        guarded += zip(protections, dict(frame.writable).values(), strict=True)
        in_memory, before = plan.grant.writes is Writes.MEMORY, 0
        if overlay is not None:
            from redoma.jail.engines import run_overlay

            cover = run_overlay.cover(overlay, self._place, self._stage, self._show)
            guarded += run_overlay.ours(overlay, self._place, as_nobody=self.as_nobody)
            in_memory = overlay.in_memory
            before = run_overlay.used(overlay.directory) if in_memory else 0
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
                from redoma.jail.protect.covers import covers_where_read

                over = (*dict(frame.writable), *frame.forgotten)
                if plan.grant.writes is not Writes.NONE:
                    over = (*over, plan.grant.workspace)
                mounts.extend(covers_where_read(frame.as_they_are, over, self._surveys))

        status, status_end = os.pipe()
        go_end, go = os.pipe()
        if builder.begins_at_end:
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
            authority, laid, named = self._certificates(plan.grant, give)
            named += [word for pair in secret_variables(plan) for word in ("--setenv", *pair)]
            mounts += [*laid, *_secret_files(plan, give)]
            rest += [*cover, *mounts, *frame.after, *named]
            rest += ["--chdir", plan.request.cwd or plan.grant.workspace]
            command = command_of(plan.request.workload, frame.path, frame.visible)
            argv, starter = builder.start_of(frame, rest, command, give)
            launch = Launch(
                argv=argv,
                starter=starter,
                entry=getattr(plan.request.workload, "entry", ()),
                env={},  # Attack: LD_PRELOAD would run in the builder itself, outside
                fds=fds,
                handshake=Handshake(status=status, go=go),
                terminal=plan.terminal,
                limits=plan.grant.limits,
                in_memory=(*frame.forgotten, *((plan.grant.workspace,) if in_memory else ())),
                in_memory_before=before,
                over_disk=overlay is not None and not overlay.in_memory,
                temporary=frame.in_memory,
                complaint=builder.complaint,
                inside=self._stage.start if self._stage else None,
                trace_files=plan.trace_files,
                gate=plan.grant.reach if plan.grant.network is NetworkMode.GATED else None,
                authority=authority,
            )
            entry = self._entries.pop() if self._entries else run_journal.RunEntry()
            entry.begin([one.state() for one in protections] if plan.journaled else None)
            prepared = PreparedSandbox(launch, protections, notes, entry=entry, overlay=overlay)
            try:
                yield prepared
            finally:
                prepared.settle()
                self._entries.append(entry)
        finally:
            for fd in (status, go, *(fd for fd, _ in fds)):
                with suppress(OSError):
                    os.close(fd)

    def program(self, path: str) -> str:
        """Where a program is found that builds a sandbox."""
        return self._stage.program(path) if self._stage is not None else path

    def close(self) -> None:
        """Ends what is kept ready, and any run that still uses it."""
        if self._stage is not None:
            self._stage.close()
            self._stage = None
        self._frames.clear()
        self._last = None
        if self._overlaid:
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
        """Where a source is found when the builder mounts it."""
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
            empty = hidden_paths.empty_beside(source)
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
        empty = self.staged().empty if self.as_nobody else hidden_paths.empty_beside(path)
        return seen_through(empty, source, path)

    def staged(self) -> Stage:
        if self._stage is None:
            from redoma.jail.kernel.stage import Stage

            self._stage = Stage()
        return self._stage

    def _protections(self, grant: Grant, frame: Frame) -> list[RunProtection]:
        """The protection of each directory that this run writes."""
        begun = []
        for path, _ in frame.writable:
            key = (path, grant.writable, grant.protected)
            protected = self._protected.get(key)
            if protected is None:
                from redoma.jail.protect.protected_paths import protected_paths_of

                protected = protected_paths_of(path, grant, as_nobody=self.as_nobody)
                self._protected[key] = protected
            below = tuple(p for p in grant.hidden if is_below(p, path))
            begun.append(protected.begin(below))
        return begun

    def _certificates(
        self, grant: Grant, give: Callable[[int], str]
    ) -> tuple[Authority | None, list[str], list[str]]:
        """An authority for one run that is read, and the mounts and variables by which it trusts.

        Where nothing is read they are there for whom the caller's own programs trust.
        """
        if grant.network is NetworkMode.CLOSED:
            return None, [], []
        from redoma.egress import trust_store
        from redoma.jail.engines import view

        opened = grant.network is NetworkMode.GATED and grant.reach.opens_tls
        if not opened and not trust_store.names_own():
            return None, [], []
        made = trust_store.authority() if opened else None
        data = trust_store.bundle(made)
        laid: list[str] = []
        for place in trust_store.places(view.etc()):
            laid += ["--perms", "0444", "--ro-bind-data", give(memory_file(data)), place]
        given = () if opened else dict(grant.env)
        named = [
            word
            for name in trust_store.VARIABLES
            if name not in given
            for word in ("--setenv", name, trust_store.OWN)
        ]
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


def _secret_files(plan: RunPlan, give: Callable[[int], str]) -> list[str]:
    """The mounts of secrets that are given as files: each is memory from one end to the other."""
    made: list[str] = []
    for grant, secret in zip(plan.grant.secrets, plan.secrets, strict=False):
        if grant.path:
            data = give(memory_file(secret.reveal().encode()))
            made += ["--perms", "0400", "--ro-bind-data", data, grant.path]
    return [*made, "--remount-ro", SECRETS] if made else []


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
