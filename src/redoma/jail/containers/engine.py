"""Confines in a container of Docker Engine or Podman, with the root that every engine shows.

The image is an empty one that we make; what a command sees of the machine is mounted into it,
read-only. So nothing is fetched, and a command finds the programs that it finds elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress

from redoma.base import own_directories
from redoma.jail.containers import container_init, create_request
from redoma.jail.containers.discovery import answers, find_engine
from redoma.jail.containers.engine_socket import ApiCall
from redoma.jail.containers.entered_root import programs_to_begin_with
from redoma.jail.containers.keeper import COMPLAINT
from redoma.jail.containers.root_mounts import RootMounts
from redoma.jail.engines.frame import memory_file
from redoma.jail.engines.preparer import NamespacePreparer
from redoma.jail.forkserver.messages import SandboxDescription
from redoma.jail.kernel.process import is_machines_root
from redoma.jail.probe.trial import nothing_held, tried
from redoma.jail.protect import installation
from redoma.model.errors import EngineFailed, IsolationError, RedomaError
from redoma.model.grant import NOBODYS_UID, EngineReport, Guarantee, NetworkMode, Syscalls
from redoma.model.request import PythonCall
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from redoma.jail.containers.engine_socket import EngineSocket
    from redoma.jail.engines.frame import Frame
    from redoma.jail.engines.prepared_sandbox import PreparedSandbox
    from redoma.jail.engines.registry import Engines
    from redoma.jail.probe.trial import TrialRunner
    from redoma.model.container import ContainerEngine
    from redoma.model.grant import Limits, RunPlan

_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.containers.keeper import main; main(sys.argv[2:])"
)
_FIRST = (installation.INTERPRETER, "-I", "-S", "-B", "-c")
_CAPPED = {
    Guarantee.MEMORY_CAPPED: "memory",
    Guarantee.PROCESSES_CAPPED: "processes",
    Guarantee.CPU_CAPPED: "cpu_percent",
}
_HELD = Guarantee.CHANGES_HELD
# The first process inside counts as well.
_NOT_THE_COMMAND = 1
_GATE_IS_MISSING = "a container's network is the engine's, and only root may put a gate into it"
_NO_OVERLAY = "a container engine mounts no overlay of ours"
_ON_DISK = "what a command writes is a copy on a disk, and only watched"
_IGNORED = "this engine ignores limits here: it has no control groups of its own"
_MECHANISMS = {
    Guarantee.SYSCALLS_FILTERED: "the container engine's own seccomp profile",
    Guarantee.CHANGES_HELD: "a copy of the workspace",
    Guarantee.MEMORY_CAPPED: "the container's control group",
    Guarantee.PROCESSES_CAPPED: "the container's control group",
    Guarantee.CPU_CAPPED: "the container's control group",
}


class ContainerJail:
    """A container for each run, removed when the run is over."""

    name = "container"

    def __init__(self, engines: Engines) -> None:
        self.preparer = NamespacePreparer()
        # Root's container gets its root from us, and with it an overlay; anyone else's from the
        # engine, which mounts none.
        self._enters = is_machines_root()
        self.preparer.overlays = self._enters
        self.preparer.copies = "" if self._enters else _NO_OVERLAY
        self._found: tuple[EngineSocket, ContainerEngine] | None = None
        self._capped: frozenset[Guarantee] = frozenset()
        self._images: set[str] = set()

    def probe(self, run: TrialRunner) -> EngineReport:
        """What held when it was tried, limits as the kernel shows them from outside."""
        try:
            socket, engine = self._engine()
        except RedomaError as error:
            return nothing_held(self.name, str(error), install=error.hint)
        self._capped = frozenset(_CAPPED)
        found = tried(self, run, version=f"{engine.kind} {engine.version}", program=socket.path)
        lost = {} if self._enters else {Guarantee.DISK_CAPPED: _ON_DISK}
        if not found.guarantees:
            # An engine that ignores limits is tried again without them.
            self._capped = frozenset()
            again = tried(self, run, version=f"{engine.kind} {engine.version}", program=socket.path)
            if not again.guarantees:
                return found
            found = again
            lost |= dict.fromkeys(_CAPPED, _IGNORED)
            if engine.rootless and engine.kind == "podman":
                # It has a user namespace for each container, in which the kernel counts by itself.
                del lost[Guarantee.PROCESSES_CAPPED]
        found = replace(
            found,
            guarantees=found.guarantees - lost.keys(),
            missing=(*found.missing, *((g, lost[g]) for g in Guarantee if g in lost)),
        )
        return replace(
            found,
            missing=tuple(
                (g, _GATE_IS_MISSING if g is Guarantee.NETWORK_ALLOW_LISTED else why)
                for g, why in found.missing
            ),
            mechanisms=tuple(
                (g, _MECHANISMS.get(g, how) if g is not _HELD or not found.overlays else how)
                for g, how in (*found.mechanisms, *((g, "") for g in _CAPPED))
                if g in found.guarantees and (how or g in _MECHANISMS)
            ),
        )

    def probe_identity(self) -> str:
        """The engine that answers, and where."""
        try:
            socket, engine = self._engine()
            status = os.stat(socket.path)
        except (RedomaError, OSError):
            return "no engine"
        found = f"{engine.kind} {engine.version} {socket.path}"
        return f"{found} {status.st_ino} {status.st_mtime_ns} {self._enters}"

    def adopt(self, report: EngineReport) -> None:
        """Uses the limits that held."""
        # Where memory is not the engine's to hold, processes are not either.
        held = frozenset(_CAPPED) & report.guarantees
        self._capped = held if Guarantee.MEMORY_CAPPED in held else frozenset()
        self.preparer.overlays = self._enters and report.overlays

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[PreparedSandbox]:
        """A container that the keeper will start; nothing of it is left when the block ends."""
        if plan.grant.syscalls is Syscalls.STRICTEST:
            raise EngineFailed(
                "a container has its engine's filter of system calls, and not the strictest",
                hint="redoma run --engine bubblewrap",
            )
        if self.preparer.overlays and not self._enters:
            raise EngineFailed(_NO_OVERLAY)
        socket, engine = self._engine()
        build = ContainerBuild(self, plan, socket, engine)
        try:
            with self.preparer.prepare(plan, build) as prepared:
                prepared.launch = replace(
                    prepared.launch,
                    limits=_counted(prepared.launch.limits, engine, build.limits),
                    held_by_engine=frozenset(build.limits),
                )
                if self._enters:
                    # Started where what its root is made of is staged.
                    prepared.launch = replace(prepared.launch, inside=self._inside)
                else:
                    # Copies lie on a disk.
                    prepared.launch = replace(prepared.launch, over_disk=False, in_memory=())
                yield prepared
        finally:
            build.remove()

    def close(self) -> None:
        """Ends what is kept ready."""
        self.preparer.close()

    def _inside(self, job: Callable[[], int]) -> int:
        """What `job` returns on the stage: as root, and as nobody where root may not.

        A root without CAP_SYS_RESOURCE limits nobody's processes as nobody alone.
        """
        stage = self.preparer.staged()
        try:
            answer: int = stage.call(job)
        except PermissionError:
            answer = stage.start(job)
        return answer

    def _engine(self) -> tuple[EngineSocket, ContainerEngine]:
        if self._found is None or not answers(self._found[0].path):
            self._found = find_engine()
        return self._found

    def capped(self, plan: RunPlan) -> dict[str, int]:
        """The limits of a plan that the engine holds, by name."""
        limits = plan.grant.limits
        pairs = ((name, getattr(limits, name)) for g, name in _CAPPED.items() if g in self._capped)
        made = {name: value for name, value in pairs if value is not None}
        if "processes" in made:
            made["processes"] += _NOT_THE_COMMAND
        return made

    def make_image(self, socket: EngineSocket, name: str, data: bytes) -> None:
        """Gives the engine an empty image, once."""
        if name not in self._images:
            _make_image(socket, name, data)
            self._images.add(name)


class ContainerBuild:
    """One run's container: what it is described with, and what is taken away after it."""

    complaint = COMPLAINT
    # The word to begin is a byte; the end of the pipe means that nobody is left to say it.
    begins_at_end = False

    def __init__(
        self, jail: ContainerJail, plan: RunPlan, socket: EngineSocket, engine: ContainerEngine
    ) -> None:
        self._jail = jail
        self._plan = plan
        self._socket = socket
        self._engine = engine
        self.limits = jail.capped(plan)
        self._name = f"redoma-run-{create_request.short_id()}"
        self._place = tempfile.mkdtemp(prefix="container-", dir=own_directories.made_cache())

    def remove(self) -> None:
        """Ends the container if the keeper could not, and takes away what was made for it."""
        with suppress(IsolationError):
            path = f"/containers/{self._name}?force=1&v=1"
            self._socket.ask(ApiCall(method="DELETE", path=path))
        shutil.rmtree(self._place, ignore_errors=True)

    def foresee(self, frame: Frame, plan: RunPlan) -> None:
        """Nothing can be done before everything is known."""

    def start_of(
        self, frame: Frame, rest: list[str], command: tuple[str, ...], give: Callable[[int], str]
    ) -> tuple[tuple[str, ...], None]:
        """The keeper's command line, with a description of the container in memory."""
        plan = self._plan
        options = [*frame.base, *frame.before, *rest]
        told, own_root = SandboxDescription(options), is_machines_root()
        root = RootMounts(programs_to_begin_with() if own_root else options, self._place)
        call = isinstance(plan.request.workload, PythonCall)
        os.mkdir(f"{self._place}/gate", 0o755)
        root.binds[container_init.GATE] = (f"{self._place}/gate", True)
        orders = {
            "socket": self._socket.path,
            "name": self._name,
            "place": self._place,
            "body": self._body(root),
            "words": command,
            "env": told.env,
            "secrets": root.secrets,
            "directory": told.directory,
            "root": options if own_root else [],
            "mounts": _own_mounts(give) if own_root else "",
            "status": told.numbers["--json-status-fd"],
            "go": told.numbers["--block-fd"],
            "gate": f"{self._place}/gate",
            # A terminal is the engine's to pass on.
            "streams": [*(() if plan.terminal else (0, 1, 2)), *((3,) if call else ())],
            "limits": self.limits,
            "closed": plan.grant.network is not NetworkMode.OPEN,
            "user": _user()[0],
            "directories": {
                place: _identity(source)
                for place, (source, read_only) in root.binds.items()
                if not read_only and source.startswith("/")
            },
        }
        given = give(memory_file(json.dumps(orders).encode()))
        python = (installation.INTERPRETER, "-I", "-S", "-c", _START, installation.LIBRARY)
        return (*python, given), None

    def _body(self, root: RootMounts) -> dict[str, Any]:
        plan, engine, held_limits = self._plan, self._engine, self.limits
        image, data = root.image()
        self._jail.make_image(self._socket, image, data)
        host: dict[str, Any] = {
            "Mounts": root.bind_words(podman=engine.kind == "podman"),
            "Tmpfs": root.memory,
            "ShmSize": root.shared_memory or None,
            "CapDrop": ["ALL"],
            "SecurityOpt": create_request.security_options(engine),
            "ReadonlyRootfs": True,
            "IpcMode": "private",
            "NetworkMode": "host" if plan.grant.network is NetworkMode.OPEN else "none",
            # The rest is put on the first process by the supervisor, before anything begins.
            "Ulimits": create_request.ulimits(engine),
            "LogConfig": {"Type": "none"} if engine.kind == "docker" else {},
        }
        if "memory" in held_limits:
            swap = plan.grant.limits.swap or 0
            host |= {"Memory": held_limits["memory"], "MemorySwap": held_limits["memory"] + swap}
        if "processes" in held_limits:
            host["PidsLimit"] = held_limits["processes"]
        if "cpu_percent" in held_limits:
            host["NanoCpus"] = held_limits["cpu_percent"] * 10_000_000
        if plan.grant.network is NetworkMode.GATED:
            # Attack: an engine may let everybody have the low ports, and the gate's is one of them.
            host["Sysctls"] = {"net.ipv4.ip_unprivileged_port_start": "1024"}
        if engine.rootless and engine.kind == "podman":
            host["UsernsMode"] = "keep-id"
        return {
            "Image": image,
            "Entrypoint": [],
            "Cmd": [*_FIRST, container_init.CODE],
            "User": "{}:{}".format(*_user()),
            "WorkingDir": root.directory,
            "Tty": plan.terminal,
            "OpenStdin": plan.terminal,
            "StdinOnce": plan.terminal,
            "AttachStdin": plan.terminal,
            "AttachStdout": True,
            "AttachStderr": True,
            "Labels": create_request.labels(plan.grant.workspace),
            "HostConfig": host,
        }


def _counted(limits: Limits, engine: ContainerEngine, held: dict[str, int]) -> Limits:
    """The same limits, with no more processes than the engine's own limit of a process lets be."""
    if engine.kind != "podman" or limits.processes is None or "processes" in held:
        return limits
    return replace(limits, processes=min(limits.processes, create_request.MOST_PROCESSES - 1))


def _user() -> tuple[int, int]:
    """Who runs inside, for the kernel: the caller, and for root nobody whom the machine knows."""
    return (NOBODYS_UID, NOBODYS_UID) if is_machines_root() else (os.geteuid(), os.getegid())


def _own_mounts(give: Callable[[int], str]) -> str:
    """The namespace in which the keeper sees the machine as we do; it is started on the stage."""
    return give(os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC))


def _make_image(socket: EngineSocket, name: str, data: bytes) -> None:
    if socket.ask(ApiCall(method="GET", path=f"/images/{name}/json")).ok:
        return
    made = socket.ask(
        ApiCall(method="POST", path="/images/create?fromSrc=-", data=lambda: data, patience=120)
    )
    if not made.ok:
        raise EngineFailed(f"the empty image cannot be made: {made.message}", hint="redoma doctor")
    repository, _, tag = name.rpartition(":")
    path = f"/images/{made.json['status']}/tag?repo={repository}&tag={tag}"
    tagged = socket.ask(ApiCall(method="POST", path=path))
    if not tagged.ok:
        raise EngineFailed(f"the empty image has no name: {tagged.message}", hint="redoma doctor")


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino
