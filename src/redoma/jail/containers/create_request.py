"""Turns a configuration into what an engine is asked for: the document's flags, and what it lacks.

`run_arguments` has the document's own command line; `create_body` is the same as the Engine API
says it, with every capability dropped, an init, the caller's user, and labels that say whose it is.
"""

from __future__ import annotations

import os
import re
import resource
import secrets

from redoma.base.identity import boot_id, identity
from redoma.jail.containers.seccomp_profile import stricter_profile
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.model.container import ContainerConfig, ContainerEngine

NAME = "orch-session-"
WORKSPACE = "/workspace"
PIDS = 256
LABEL = "dev.redoma.cell"
OWNER, BOOT, PROCESSES, USER = (f"{LABEL}.{part}" for part in ("owner", "boot", "pidns", "user"))
PROJECT = f"{LABEL}.project"
TMPFS = {
    "/tmp": "rw,noexec,nosuid,size=512m",
    "/var/tmp": "rw,noexec,nosuid,size=256m",
}
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d{1,15})([bkmgt]?)b?", re.IGNORECASE)
_CPUS = re.compile(r"\d{1,4}(\.\d{1,9})?")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,511}")
_PORT = re.compile(
    r"(?:(?P<ip>\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:]+\]):)?(?:(?P<host>\d{0,5}):)?(?P<inside>\d{1,5})"
    r"(?:/(?P<kind>tcp|udp))?"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\0]*", re.DOTALL)
_LEAST_MEMORY = 6 << 20
_LARGEST_PORT = 65535
_MOST_FILES = 65536
MOST_PROCESSES = 4096


def short_id() -> str:
    """The end of a name that nobody else has."""
    return secrets.token_hex(4)


def run_arguments(config: ContainerConfig) -> list[str]:
    """The document's `docker run` of a configuration, for people to read."""
    memory_bytes(config.memory)
    nano_cpus(config.cpus)
    made = ["run", "-it", "--rm", "--name", NAME + short_id()]
    made += ["-v", f"{config.project_path}:{WORKSPACE}", "-w", WORKSPACE]
    made += ["--memory", config.memory, "--cpus", config.cpus, "--pids-limit", str(PIDS)]
    made += ["--security-opt", "no-new-privileges"]
    if config.read_only:
        made.append("--read-only")
        for place, how in TMPFS.items():
            made += ["--tmpfs", f"{place}:{how}"]
    if config.network_mode:
        made += ["--network", config.network_mode]
    return [*made, config.image, config.shell]


def create_body(
    config: ContainerConfig, engine: ContainerEngine, *, image: str, user: tuple[int, int]
) -> dict[str, Any]:
    """What the engine makes a container from."""
    memory = memory_bytes(config.memory)
    exposed, bound = _ports(config)
    for variable in config.env_vars:
        if not _VARIABLE.fullmatch(variable):
            raise UsageError(f"{variable!r} is not NAME=VALUE", hint='env_vars=("NAME=VALUE",)')
    if not config.shell.startswith("/") or "\0" in config.shell:
        raise UsageError(f"{config.shell!r} is not a shell's whole path", hint='shell="/bin/sh"')
    inside = "{}:{}".format(*user)
    host: dict[str, Any] = {
        "Binds": [f"{config.project_path}:{WORKSPACE}:rw"],
        "Memory": memory,
        "MemorySwap": memory,  # no swap beside it
        "NanoCpus": nano_cpus(config.cpus),
        "PidsLimit": PIDS,
        "SecurityOpt": security_options(engine),
        "CapDrop": ["ALL"],
        "Privileged": False,
        "ReadonlyRootfs": config.read_only,
        "NetworkMode": network_mode(config),
        "PortBindings": bound,
        "Init": True,
        "IpcMode": "private",
        "RestartPolicy": {"Name": "no"},
        "Ulimits": ulimits(engine),
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m"}}
        if engine.kind == "docker"
        else {},
    }
    if config.read_only:
        host["Tmpfs"] = {place: f"{how},mode=1777" for place, how in TMPFS.items()}
    if engine.rootless:
        # Docker's own root without rights is the caller; Podman keeps the caller's number.
        if engine.kind == "podman":
            host["UsernsMode"] = "keep-id"
        else:
            inside = "0:0"
    return {
        "Image": image,
        "Cmd": [config.shell],
        "Entrypoint": [],
        "User": inside,
        "WorkingDir": WORKSPACE,
        "Env": list(config.env_vars),
        "Tty": True,
        "OpenStdin": True,
        # An interactive shell ignores SIGTERM, and ends at a hang-up.
        "StopSignal": "SIGHUP",
        "ExposedPorts": exposed,
        "Labels": labels(config.project_path),
        "HostConfig": host,
    }


def security_options(engine: ContainerEngine) -> list[str]:
    """No new privileges, and the engine's own filter of system calls, never none."""
    made = ["no-new-privileges"]
    profile = stricter_profile() if engine.kind == "podman" else ""
    return [*made, f"seccomp={profile}"] if profile else made


def labels(project: str) -> dict[str, str]:
    """Whose a container is: what `list` shows, and what is left when its owner has ended."""
    return {
        LABEL: "1",
        USER: str(os.geteuid()),
        OWNER: identity(os.getpid()),
        BOOT: boot_id(),
        PROCESSES: os.readlink("/proc/self/ns/pid"),
        PROJECT: project,
    }


def image_name(text: str) -> str:
    """An image's name, where it is one."""
    if not _IMAGE.fullmatch(text):
        raise UsageError(f"{text!r} is not the name of an image", hint='image="alpine:latest"')
    return text


def memory_bytes(text: str) -> int:
    """Bytes of `2g`, `512m` …"""
    found = _SIZE.fullmatch(text.strip())
    size = int(found[1]) * _UNITS[found[2].lower()] if found else 0
    if size < _LEAST_MEMORY:
        raise UsageError(f"{text!r} is no size of memory from 6m up", hint='memory="2g"')
    return size


def nano_cpus(text: str) -> int:
    """Billionths of a processor of `2`, `0.5` …; never more than there are."""
    if not _CPUS.fullmatch(text.strip()) or float(text) < 0.01:
        raise UsageError(f"{text!r} is no number of processors", hint='cpus="2"')
    return int(min(float(text), os.cpu_count() or 1) * 1e9)


def network_mode(config: ContainerConfig) -> str:
    """`none` or `bridge`: the host's own network, or another container's, is never given."""
    mode = config.network_mode or "bridge"
    if mode not in ("none", "bridge"):
        raise UsageError(
            f"a container has no network {mode!r} here", hint='network_mode="none" or "bridge"'
        )
    return mode


def ulimits(engine: ContainerEngine) -> list[dict[str, object]]:
    """The limits of each process: the caller's own, since an engine may not give more."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = _MOST_FILES if files == resource.RLIM_INFINITY else min(files, _MOST_FILES)
    pairs = [("nofile", files)]
    if engine.kind == "podman":
        # It would give all that root may have, and a root without the right to raise limits fails.
        processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        many = processes == resource.RLIM_INFINITY
        pairs.append(("nproc", MOST_PROCESSES if many else min(processes, MOST_PROCESSES)))
    return [{"Name": name, "Soft": value, "Hard": value} for name, value in pairs]


def _ports(
    config: ContainerConfig,
) -> tuple[dict[str, dict[str, str]], dict[str, list[dict[str, str]]]]:
    exposed: dict[str, dict[str, str]] = {}
    bound: dict[str, list[dict[str, str]]] = {}
    for text in config.ports:
        found = _PORT.fullmatch(text)
        if not found or not 0 < int(found["inside"]) <= _LARGEST_PORT:
            raise UsageError(f"{text!r} is no port", hint='ports=("8080:80",)')
        if network_mode(config) == "none":
            raise UsageError(
                "a port needs a network, and this container has none",
                hint='network_mode="bridge", or leave ports out',
            )
        key = f"{found['inside']}/{found['kind'] or 'tcp'}"
        exposed[key] = {}
        # Not on every address of the machine: who wants that names the address.
        one = {"HostIp": (found["ip"] or "127.0.0.1").strip("[]"), "HostPort": found["host"] or ""}
        bound.setdefault(key, []).append(one)
    return exposed, bound
