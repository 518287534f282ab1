"""A real Docker Engine and a real Podman, each with a socket and directories of the tests' own."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from redoma.jail.containers.engine_socket import ApiCall, EngineSocket
from redoma.model.container import ContainerError
from tests.tidy import remove

KINDS = ("docker", "podman")
IMAGE = "localhost/redoma-test:1"
_BUSYBOX = "/bin/busybox"
_COMMANDS = """cat chmod cp df dd echo env find grep head id kill ln ls mkdir mknod mount nc ps rm
    sh sleep stty su tail test touch tr true unshare wc wget yes""".split()
_PATIENCE = 40
_CONF = """
[containers]
init_path = "{init}"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


def why_not(kind: str) -> str:
    """Why an engine cannot be started here, or nothing."""
    if not os.path.exists(_BUSYBOX):
        return "busybox-static is not installed"
    if kind == "docker":
        if os.geteuid() != 0:
            return "root has to start it"
        return "" if shutil.which("dockerd") else "docker.io is not installed"
    if not shutil.which("podman") or not shutil.which("runc"):
        return "podman or runc is not installed"
    if os.geteuid() != 0 and not _has_subordinate_ids():
        return "this user has no numbers in /etc/subuid"
    return ""


def _has_subordinate_ids() -> bool:
    import pwd

    name = pwd.getpwuid(os.geteuid()).pw_name
    try:
        lines = Path("/etc/subuid").read_text().splitlines()
    except OSError:
        return False
    return any(line.split(":")[0] in (name, str(os.geteuid())) for line in lines)


class RealEngine:
    """One engine that runs; it can be killed and started again over the same directories."""

    def __init__(self, kind: str, directory: str) -> None:
        self.kind = kind
        self.directory = directory
        self.socket = f"{directory}/engine.sock"
        self.env = {**os.environ, "XDG_RUNTIME_DIR": f"{directory}/run"}
        os.makedirs(f"{directory}/run", mode=0o700, exist_ok=True)
        init = next((p for p in ("/usr/bin/catatonit", "/usr/bin/tini") if os.path.exists(p)), "")
        Path(f"{directory}/containers.conf").write_text(_CONF.format(init=init))
        self.env["CONTAINERS_CONF"] = f"{directory}/containers.conf"
        self._process: subprocess.Popen[bytes] | None = None
        # What keeps Docker's containers; as on a real machine it is not ended with the engine.
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The engine's own process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        with suppress(FileNotFoundError):
            os.unlink(self.socket)
        if self.kind == "docker" and self._keeper is None:
            self._keeper = self._begun(self._containerd())
        self._process = self._begun(self._docker() if self.kind == "docker" else self._podman())
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(ContainerError):
                if EngineSocket(self.socket).ask(ApiCall(method="GET", path="/version")).ok:
                    return
            time.sleep(0.05)
        raise OSError(f"{self.kind} does not start: {self.log()}")

    def _begun(self, argv: list[str]) -> subprocess.Popen[bytes]:
        with open(f"{self.directory}/log", "ab") as log:
            return subprocess.Popen(
                argv, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """Ends it as a crash does; what stands beside it goes on."""
        assert self._process is not None
        # Podman without root answers from a child of its own.
        tasks = Path(f"/proc/{self.pid}/task").glob("*/children")
        children = [child for task in tasks for child in task.read_text().split()]
        self._process.kill()
        for child in children if self.kind == "podman" else []:
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """Ends it by itself, and takes away all that it made."""
        for process in (self._process, self._keeper):
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(_PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self._end_pause()
        self._end_monitors()
        for place in sorted(_mounts_below(self.directory), reverse=True):
            subprocess.run(["umount", place], check=False, capture_output=True)
        if self.kind == "docker":
            for group in Path("/sys/fs/cgroup").glob(f"*/{self._group}"):
                with suppress(OSError):
                    group.rmdir()
        if os.geteuid() != 0:
            # Files of the numbers that stand for others inside can only be removed as them.
            unshare = ["podman", "unshare", "rm", "-rf", f"{self.directory}/store"]
            subprocess.run(unshare, env=self.env, check=False, capture_output=True)
            self._end_pause()
        remove(self.directory)

    def _end_pause(self) -> None:
        with suppress(OSError, ValueError):
            pid = int(Path(f"{self.directory}/run/libpod/tmp/pause.pid").read_text())
            os.kill(pid, signal.SIGKILL)

    def _end_monitors(self) -> None:
        """Ends Podman's monitors of commands, which stay five minutes after them."""
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (place / "cmdline").read_bytes()
                ours = words.startswith(b"/usr/bin/conmon\0")
                if ours and f"{self.directory}/".encode() in words:
                    os.kill(int(place.name), signal.SIGKILL)

    def log(self) -> str:
        """The end of what it said."""
        return Path(f"{self.directory}/log").read_text(errors="replace")[-2000:]

    @property
    def _group(self) -> str:
        return f"redoma-{os.path.basename(self.directory)}"

    def _containerd(self) -> list[str]:
        place = self.directory
        Path(f"{place}/containerd.toml").write_text(
            'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
        )
        return [
            *("containerd", "--config", f"{place}/containerd.toml", "--root", f"{place}/keeper"),
            *("--state", f"{place}/state", "--address", f"{place}/containerd.sock"),
        ]

    def _docker(self) -> list[str]:
        place = self.directory
        return [
            *("dockerd", "-H", f"unix://{self.socket}", "--pidfile", f"{place}/pid"),
            *("--data-root", f"{place}/store", "--exec-root", f"{place}/exec"),
            *("--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
            *(
                "--containerd",
                f"{place}/containerd.sock",
                "--bridge=none",
                "--storage-driver",
                "overlay2",
            ),
            *("--cgroup-parent", f"/{self._group}", "--exec-opt", "native.cgroupdriver=cgroupfs"),
        ]

    def _podman(self) -> list[str]:
        place = self.directory
        return [
            *("podman", "--root", f"{place}/store", "--runroot", f"{place}/runroot"),
            *("--runtime", "runc", "--cgroup-manager", "cgroupfs"),
            *("system", "service", "-t", "0", f"unix://{self.socket}"),
        ]


@contextmanager
def started(kind: str) -> Iterator[RealEngine]:
    """An engine with one image that was made without any registry."""
    engine = RealEngine(kind, tempfile.mkdtemp(prefix=f"rdm-{kind}-", dir="/var/tmp"))
    try:
        engine.start()
        load_image(engine.socket)
        yield engine
    finally:
        engine.end()


def load_image(socket: str, name: str = IMAGE) -> None:
    """Gives an engine an image of busybox alone."""
    client = EngineSocket(socket)
    made = client.ask(ApiCall(method="POST", path="/images/create?fromSrc=-", data=_image))
    assert made.ok, made.message
    known = made.json["status"]
    repository, _, tag = name.rpartition(":")
    path = f"/images/{known}/tag?repo={repository}&tag={tag}"
    tagged = client.ask(ApiCall(method="POST", path=path))
    assert tagged.ok, tagged.message


def _image() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777), ("var/tmp", 0o1777)):
            place = tarfile.TarInfo(name)
            place.type, place.mode = tarfile.DIRTYPE, mode
            tar.addfile(place)
        tar.add(_BUSYBOX, "bin/busybox")
        # Set-user-id, as `su` is in many images.
        root = tarfile.TarInfo("bin/suid/busybox")
        root.mode = 0o4755
        data = Path(_BUSYBOX).read_bytes()
        root.size = len(data)
        tar.addfile(root, io.BytesIO(data))
        for name in _COMMANDS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return made.getvalue()


def _mounts_below(directory: str) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4] for line in lines if line.split()[4].startswith(f"{directory}/")]


def limits_are_held(kind: str) -> bool:
    """Whether the engine that is started here can hold a container to limits."""
    if kind == "docker" or os.geteuid() == 0:
        return True
    return Path("/sys/fs/cgroup/cgroup.controllers").exists()
