"""Finds the container engine of this machine: Docker's socket, Podman's, or a Podman to start."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress

from redoma.base import own_directories
from redoma.jail.containers.engine_socket import ApiCall, EngineSocket, connected
from redoma.jail.supervisor.background import start_apart
from redoma.model.container import ContainerEngine, ContainerError
from redoma.model.errors import NoEngine

_DOCKER = "/run/docker.sock"
_PODMAN = "/run/podman/podman.sock"
_PROGRAMS = ("/usr/bin/podman", "/usr/local/bin/podman", "/bin/podman")
# How long a Podman that we started stays when nobody asks it anything, and how long it may take.
_IDLE = 120
_LONGEST_START = 15.0
INSTALL = "sudo apt-get install docker.io (or: podman); then docker info (or: podman info)"
# What a Podman is told about itself; nothing else of the caller's environment reaches it.
_PASSED = ("HOME", "PATH", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CONTAINERS_CONF")


def find_engine(given: str = "") -> tuple[EngineSocket, ContainerEngine]:
    """The engine at a socket, or the first that answers; NoEngine that says why each does not."""
    tried: dict[str, str] = {}
    for place in [_plain(given)] if given else _places():
        why = _distrust(place)
        if not why:
            engine = EngineSocket(place)
            try:
                return engine, _facts(engine)
            except ContainerError as error:
                why = str(error)
        tried[place] = why
    program = _podman()
    if program and not given:
        try:
            engine = EngineSocket(_started(program))
            return engine, _facts(engine)
        except ContainerError as error:
            tried[program] = str(error)
    raise NoEngine(required=["a container engine"], tried=tried, hint=INSTALL)


def engines_here() -> list[tuple[EngineSocket, ContainerEngine]]:
    """Every engine that answers; a Podman is started only where we have started one before."""
    places = [place for place in _places() if not _distrust(place)]
    ours = f"{own_directories.cache()}/podman.sock"
    program = _podman()
    if program and os.path.exists(ours) and ours not in places:
        with suppress(ContainerError):
            places.append(_started(program))
    found = []
    for place in places:
        with suppress(ContainerError):
            found.append((EngineSocket(place), _facts(EngineSocket(place))))
    return found


def _podman() -> str:
    return next((path for path in _PROGRAMS if os.access(path, os.X_OK)), "")


def _places() -> list[str]:
    """Sockets that are worth a try, the caller's own choice first."""
    for name in ("DOCKER_HOST", "CONTAINER_HOST"):
        if os.environ.get(name):
            return [_plain(os.environ[name])]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    found = [f"{runtime}/docker.sock"] if runtime.startswith("/") else []
    found.append(_DOCKER)
    found += [f"{runtime}/podman/podman.sock"] if runtime.startswith("/") else []
    if os.geteuid() == 0:
        found.append(_PODMAN)
    return found


def _plain(address: str) -> str:
    """The path of `unix://PATH`."""
    path = address.removeprefix("unix://")
    if not path.startswith("/"):
        raise ContainerError(
            f"{address} is not a socket of this machine: what holds in a container elsewhere cannot"
            " be seen from here",
            hint="export DOCKER_HOST=unix:///run/docker.sock",
        )
    return path


def _distrust(path: str) -> str:
    """Why a socket is of no use; nothing where it is."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return "there is no socket"
    except OSError as error:
        return error.strerror or "it cannot be reached"
    if not stat.S_ISSOCK(status.st_mode):
        return "it is no socket"
    # Attack: another user's socket would be told of the project, and say that all is well.
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to user {status.st_uid}, not to root and not to you"
    if not os.access(path, os.W_OK):
        return "you may not connect to it: sudo usermod -aG docker $(id -un), then log in again"
    return ""


def _facts(engine: EngineSocket) -> ContainerEngine:
    reply = engine.ask(ApiCall(method="GET", path="/version", patience=20))
    if not reply.ok:
        raise ContainerError(f"{engine.path} does not answer as an engine does: {reply.message}")
    version = reply.json
    names = " ".join(str(part.get("Name", "")) for part in version.get("Components") or [])
    kind = "podman" if "podman" in names.lower() else "docker"
    info = engine.ask(ApiCall(method="GET", path="/info", patience=20))
    options = " ".join(map(str, (info.json or {}).get("SecurityOptions") or [])) if info.ok else ""
    return ContainerEngine(
        kind=kind,
        version=str(version.get("Version", "")),
        socket=engine.path,
        rootless="rootless" in options or (info.ok and bool(info.json.get("Rootless"))),
    )


def _started(program: str) -> str:
    """The socket of a Podman of our own, started where it does not run yet.

    One that was never used makes a store in the home first: that is for its owner to begin.
    """
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    if os.geteuid() and not os.path.isdir(f"{data}/containers"):
        raise ContainerError("podman was never used by you on this machine", hint="podman info")
    place = f"{own_directories.made_cache()}/podman.sock"
    with open(f"{place}.lock", "w") as lock:
        # Two that start it at once would take the socket from each other.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if answers(place):
            return place
        with suppress(FileNotFoundError):
            os.unlink(place)
        env = {name: os.environ[name] for name in _PASSED if name in os.environ}
        start_apart((program, "system", "service", "-t", str(_IDLE), f"unix://{place}"), env)
        until = time.monotonic() + _LONGEST_START
        while time.monotonic() < until:
            if answers(place):
                return place
            time.sleep(0.05)
    raise ContainerError(
        "podman is installed, and its service does not start",
        hint="podman info",
    )


def answers(place: str) -> bool:
    """Whether someone takes connections there: a Podman that we started ends when it has rest."""
    try:
        connected(place, 5).close()
    except OSError:
        return False
    return True
