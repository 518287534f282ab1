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
from redoma.jail.containers import create_request
from redoma.jail.containers.discovery import find_engine
from redoma.jail.containers.engine_socket import ApiCall
from redoma.jail.containers.keeper import COMPLAINT
from redoma.jail.containers.root_mounts import GATE, RootMounts
from redoma.jail.engines.frame import memory_file
from redoma.jail.engines.preparer import NamespacePreparer
from redoma.jail.kernel.process import is_machines_root
from redoma.jail.probe.trial import nothing_held, tried
from redoma.jail.protect import installation
from redoma.model.errors import EngineFailed, IsolationError, RedomaError
from redoma.model.grant import EngineReport, Guarantee, NetworkMode, Syscalls
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

_ROOT = "run by root the command would keep root's kernel uid"
_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.containers.keeper import main; main(sys.argv[2:])"
)
# The first process inside: it waits for the word, starts the command as its child, takes in
# orphans, and ends as the command does. An engine's own init would be mounted where /usr goes.
_INIT = f"""
import os, signal, sys
IGNORED = (1, 2, 3, 10, 12, 15)
# In digits: an engine takes text, and words and variables may be any bytes.
answers, count, *rest = sys.argv[1:]
rest = [bytes.fromhex(word) for word in rest]
words, env = rest[: int(count)], dict(pair.split(b"=", 1) for pair in rest[int(count) :])
with open("{GATE}/go") as gate:
    gate.readline()
for number in IGNORED:
    signal.signal(number, signal.SIG_IGN)
child = os.fork()
if child == 0:
    for number in (*IGNORED, 13, 25):
        signal.signal(number, signal.SIG_DFL)
    if answers == "answers":
        fd = os.open("{GATE}/answer", os.O_WRONLY)
        os.dup2(fd, 3)
        os.set_inheritable(3, True)
    try:
        try:
            os.execve(words[0], words, env)
        except OSError as error:
            if error.errno != 8:
                raise
            os.execve(b"/bin/sh", [b"/bin/sh", *words], env)  # a script that names no reader
    except OSError as error:
        os.write(2, words[0] + b": " + error.strerror.encode() + bytes([10]))
        os._exit(127 if error.errno == 2 else 126)
while True:
    pid, status = os.wait()
    if pid == child:
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)
"""
_CAPPED = {
    Guarantee.MEMORY_CAPPED: "memory",
    Guarantee.PROCESSES_CAPPED: "processes",
    Guarantee.CPU_CAPPED: "cpu_percent",
}
# The first process inside counts as well.
_NOT_THE_COMMAND = 1
_GATE_IS_MISSING = "a container's network is the engine's, and has no gate"
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
        self.preparer.overlays = False
        self.preparer.copies = "a container engine mounts no overlay of ours"
        self._found: tuple[EngineSocket, ContainerEngine] | None = None
        self._capped: frozenset[Guarantee] = frozenset()
        self._images: set[str] = set()

    def probe(self, run: TrialRunner) -> EngineReport:
        """What held when it was tried, limits as the kernel shows them from outside."""
        if is_machines_root():
            return nothing_held(self.name, _ROOT, install="run redoma as an ordinary user")
        try:
            socket, engine = self._engine()
        except RedomaError as error:
            return nothing_held(self.name, str(error), install=error.hint)
        self._capped = frozenset(_CAPPED)
        found = tried(self, run, version=f"{engine.kind} {engine.version}", program=socket.path)
        lost = {Guarantee.DISK_CAPPED: _ON_DISK}
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
                (g, _MECHANISMS.get(g, how))
                for g, how in (*found.mechanisms, *((g, "") for g in _CAPPED))
                if g in found.guarantees and _MECHANISMS.get(g, how)
            ),
        )

    def probe_identity(self) -> str:
        """The engine that answers, and where."""
        if is_machines_root():
            return "root"
        try:
            socket, engine = self._engine()
            status = os.stat(socket.path)
        except (RedomaError, OSError):
            return "no engine"
        return f"{engine.kind} {engine.version} {socket.path} {status.st_ino} {status.st_mtime_ns}"

    def adopt(self, report: EngineReport) -> None:
        """Uses the limits that held."""
        # Where memory is not the engine's to hold, processes are not either.
        held = frozenset(_CAPPED) & report.guarantees
        self._capped = held if Guarantee.MEMORY_CAPPED in held else frozenset()
        self.preparer.overlays = False

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[PreparedSandbox]:
        """A container that the keeper will start; nothing of it is left when the block ends."""
        if is_machines_root():
            raise EngineFailed(f"a container does not run for root: {_ROOT}", hint="redoma doctor")
        if plan.grant.syscalls is Syscalls.STRICTEST:
            raise EngineFailed(
                "a container has its engine's filter of system calls, and not the strictest",
                hint="redoma run --engine bubblewrap",
            )
        if self.preparer.overlays:
            raise EngineFailed("a container engine mounts no overlay of ours")
        socket, engine = self._engine()
        build = ContainerBuild(self, plan, socket, engine)
        try:
            with self.preparer.prepare(plan, build) as prepared:
                prepared.launch = replace(
                    prepared.launch,
                    limits=_counted(prepared.launch.limits, engine, build.limits),
                    held_by_engine=frozenset(build.limits),
                    over_disk=False,
                    in_memory=(),  # copies lie on a disk
                )
                yield prepared
        finally:
            build.remove()

    def close(self) -> None:
        """Ends what is kept ready."""
        self.preparer.close()

    def _engine(self) -> tuple[EngineSocket, ContainerEngine]:
        if self._found is None:
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
        root = RootMounts([*frame.base, *frame.before, *rest], self._place)
        call = isinstance(plan.request.workload, PythonCall)
        os.mkdir(f"{self._place}/gate", 0o755)
        os.mkfifo(f"{self._place}/gate/go", 0o600)
        if call:
            os.mkfifo(f"{self._place}/gate/answer", 0o600)
        root.binds[GATE] = (f"{self._place}/gate", True)
        orders = {
            "socket": self._socket.path,
            "name": self._name,
            "body": self._body(root, ["answers" if call else "none", *_digits(command, root.env)]),
            "status": root.status,
            "go": root.go,
            "gate": f"{self._place}/gate/go",
            "answer": f"{self._place}/gate/answer" if call else "",
            "limits": self.limits,
            "closed": plan.grant.network is NetworkMode.CLOSED,
            "directories": {
                place: _identity(source)
                for place, (source, read_only) in root.binds.items()
                if not read_only and source.startswith("/")
            },
        }
        given = give(memory_file(json.dumps(orders).encode()))
        python = (installation.INTERPRETER, "-I", "-S", "-c", _START, installation.LIBRARY)
        return (*python, given), None

    def _body(self, root: RootMounts, words: list[str]) -> dict[str, Any]:
        plan, engine, held_limits = self._plan, self._engine, self.limits
        image, data = root.image()
        self._jail.make_image(self._socket, image, data)
        host: dict[str, Any] = {
            "Mounts": root.bind_words(),
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
        if engine.rootless and engine.kind == "podman":
            host["UsernsMode"] = "keep-id"
        return {
            "Image": image,
            "Entrypoint": [],
            "Cmd": [installation.INTERPRETER, "-I", "-S", "-B", "-c", _INIT, *words],
            "User": f"{os.geteuid()}:{os.getegid()}",
            "WorkingDir": root.directory,
            "Tty": plan.terminal,
            "OpenStdin": True,
            "StdinOnce": True,
            "AttachStdin": True,
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


def _digits(command: tuple[str, ...], env: dict[str, str]) -> list[str]:
    """How many words there are, the words, and the variables."""
    words = [*command, *(f"{name}={value}" for name, value in env.items())]
    return [str(len(command)), *(os.fsencode(word).hex() for word in words)]


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
