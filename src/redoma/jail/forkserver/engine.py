"""Confines with the forkserver, a process of ours that stays: each run is a fork of it.

The description of the sandbox is the very one that bubblewrap gets, and what is protected is kept
together with bubblewrap's: a run by the one knows of a run by the other.
"""

from __future__ import annotations

import itertools
import os
import sys
from _thread import allocate_lock
from contextlib import contextmanager, suppress

from redoma.jail.engines.frame import memory_file, words
from redoma.jail.engines.prepared_sandbox import file_stamp
from redoma.jail.forkserver.client import ForkserverClient, ForkserverGone, fork_order
from redoma.jail.forkserver.messages import packed_request
from redoma.jail.kernel import syscalls
from redoma.jail.protect import installation
from redoma.model.errors import EngineFailed
from redoma.model.grant import NetworkMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.jail.engines.frame import Frame
    from redoma.jail.engines.prepared_sandbox import PreparedSandbox
    from redoma.jail.engines.registry import Engines
    from redoma.jail.forkserver.client import SandboxKind, WaitingSandbox
    from redoma.jail.kernel.stage import Stage
    from redoma.jail.probe.trial import TrialRunner
    from redoma.jail.supervisor.limiter import Limiter
    from redoma.model.grant import EngineReport, Launch, RunPlan, Starter

_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.forkserver.server import main; main()"
)
_TRIES = 3
_ALWAYS = (
    syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
)


class ForkserverEngine:
    """Namespaces and a root that a forkserver of ours makes."""

    name = "forkserver"
    complaint = "redoma: "
    begins_at_end = False

    def __init__(self, engines: Engines) -> None:
        self.preparer = engines.preparer
        self.binary = installation.INTERPRETER
        self._lock = allocate_lock()
        self._client: ForkserverClient | None = None
        self._stage: Stage | None = None
        # Where the forkserver read its libraries, and where everyone else finds them.
        self.moved: list[tuple[str, str]] = []

    @property
    def forkserver_pid(self) -> int:
        """The process that stays, or 0 where there is none."""
        return self._client.pid if self._client is not None else 0

    def probe(self, run: TrialRunner) -> EngineReport:
        """What held when it was tried."""
        from redoma.jail.probe.trial import tried

        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        return tried(self, run, version=version, program=self.binary)

    def probe_identity(self) -> str:
        """The interpreter that stays."""
        return file_stamp(installation.INTERPRETER)

    def adopt(self, report: EngineReport) -> None:
        """Uses overlays where they worked."""
        if report.program:
            self.preparer.overlays = report.overlays

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[PreparedSandbox]:
        """The same preparation as bubblewrap's, performed by the forkserver."""
        builder = _RunBuilder(self)
        try:
            with self.preparer.prepare(plan, builder) as prepared:
                yield prepared
        finally:
            builder.end()
        client = self._client
        if client is not None and builder.kind is not None:
            client.make_ready(builder.kind)

    def take(self, kind: SandboxKind) -> WaitingSandbox:
        """A process in a sandbox of this kind; a forkserver that has ended is started anew."""
        client = self._started()
        with suppress(ForkserverGone):
            return client.take(kind)
        self._forget(client)
        try:
            return self._started().take(kind)
        except ForkserverGone:
            raise EngineFailed(
                "the forkserver ended before it could make a sandbox", hint="redoma doctor"
            ) from None

    def close(self) -> None:
        """Ends what is kept ready."""
        if self._client is not None:
            self._forget(self._client)

    def _forget(self, client: ForkserverClient) -> None:
        with self._lock:
            if self._client is not client:
                return  # another thread was here first, and may have started a new one
            self._client = None
        client.close()

    def _started(self) -> ForkserverClient:
        stage = self.preparer.staged() if self.preparer.as_nobody else None
        with self._lock:
            # Its mounts are the stage's: with another stage it would look at old ones.
            if self._client is not None and (self._stage is not stage or not self._client.ours):
                if self._client.ours:
                    self._client.close()
                self._client = None
            if self._client is None:
                self._stage = stage
                self._client = self._start(stage)
            return self._client

    def _start(self, stage: Stage | None) -> ForkserverClient:
        interpreter, place, env = self.binary, installation.LIBRARY, {}
        package = f"{place}/redoma"
        pickler = _package("cloudpickle")
        beside = os.path.dirname(pickler)
        if stage is not None:
            # What root runs is started as nobody, who may not reach root's own Python.
            packages = ((package, "/redoma"), *(((pickler, "/cloudpickle"),) if pickler else ()))
            beside = place = stage.root(packages, (), ())
            self.moved = [(place + name, path) for path, name in packages]
            if not interpreter.startswith("/usr/"):
                library = stage.root(((sys.base_prefix, "/python"),), (), ()) + "/python"
                interpreter = library + interpreter.removeprefix(os.path.realpath(sys.base_prefix))
                env["LD_LIBRARY_PATH"] = f"{library}/lib"
                self.moved.append((library, sys.base_prefix))
        return ForkserverClient(
            (interpreter, "-I", "-S", "-c", _START, place, beside, *itertools.chain(*self.moved)),
            env,
            stage.start if stage is not None else None,
            stage.call(_mounts) if stage is not None else _mounts(),
        )


def _package(name: str) -> str:
    """Where a package lies, without importing it; empty where it is not installed."""
    from importlib.util import find_spec

    found = find_spec(name)
    return os.path.dirname(found.origin) if found is not None and found.origin else ""


class _RunBuilder:
    """How one run's sandbox is built."""

    complaint = ForkserverEngine.complaint
    begins_at_end = ForkserverEngine.begins_at_end

    def __init__(self, engine: ForkserverEngine) -> None:
        self._engine = engine
        self.kind: SandboxKind | None = None
        self._before = b""
        self._ready: WaitingSandbox | None = None
        self._asked: WaitingSandbox | None = None

    def foresee(self, frame: Frame, plan: RunPlan) -> None:
        """Has a sandbox mount what can be mounted, while the rest is worked out here."""
        network = 0 if plan.grant.network is NetworkMode.OPEN else syscalls.CLONE_NEWNET
        entry = getattr(plan.request.workload, "entry", ())
        self.kind = fork_order(_ALWAYS | network, entry), words(list(frame.base))
        self._before = words(list(frame.before))
        self._ready = self._prepared()

    def start_of(
        self, frame: Frame, rest: list[str], command: tuple[str, ...], give: Callable[[int], str]
    ) -> tuple[tuple[str, ...], Starter]:
        """No command line but the command's own, and who starts it."""

        def start(
            launch: Launch, stdio: tuple[int, int, int], limiter: Limiter, terminal: str
        ) -> int:
            cgroup_files = limiter.cgroup_files()
            request = packed_request(
                numbers=[number for _, number in launch.fds],
                cgroup_files=len(cgroup_files),
                limits=limiter.own_limits(),
                umask=_umask(),
                terminal=bool(terminal),
                options=rest,
                entry=launch.entry,
                argv=launch.argv,
            )
            file = memory_file(words(request))
            try:
                for _ in range(_TRIES):
                    ready, self._ready = self._still_current() or self._prepared(), None
                    if ready.ask([file, *stdio, *cgroup_files, *(fd for fd, _ in launch.fds)]):
                        self._asked = ready
                        return ready.pid
            finally:
                os.close(file)
            raise EngineFailed("the sandbox ended before it was used", hint="redoma doctor")

        return command, start

    def end(self) -> None:
        """Closes or discards the sandbox that waited."""
        if self._asked is not None:
            self._asked.close()
        if self._ready is not None:
            self._ready.discard()

    def _still_current(self) -> WaitingSandbox | None:
        """The waiting sandbox, unless something was mounted since: the overlay's own place, say."""
        if self._ready is not None and not self._ready.sees_current_mounts():
            self._ready.discard()
            self._ready = None
        return self._ready

    def _prepared(self) -> WaitingSandbox:
        """A sandbox that mounts what comes first of its root.

        One that stood ready may have been killed since, for memory or by a person.
        """
        assert self.kind is not None
        for _ in range(_TRIES):
            ready = self._engine.take(self.kind)
            if ready.mount_ahead(self._before):
                return ready
        raise EngineFailed("the sandbox ended before it was used", hint="redoma doctor")


def _mounts() -> int:
    """A descriptor that says when something was mounted or unmounted where this thread is."""
    return os.open("/proc/thread-self/mounts", os.O_RDONLY | os.O_CLOEXEC)


def _umask() -> int:
    """This process's own; asking the usual way would change it for a moment, in every thread."""
    with open("/proc/self/status", "rb") as file:
        return int(file.read(512).partition(b"\nUmask:")[2].split()[0], 8)
