"""Finds, fetches and builds the image of a project."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
from urllib.parse import quote

from redoma.jail.containers.create_request import LABEL, image_name, memory_bytes, network_mode
from redoma.jail.containers.engine_socket import ApiCall
from redoma.model.container import ContainerError, ImageMissing
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.jail.containers.engine_socket import Reply, Steps
    from redoma.model.container import ContainerConfig, ContainerEngine

BUILD = "build:"
# The document's table, in its order: the first file that is there decides.
DETECTED = {
    "package.json": "node:20-alpine",
    "go.mod": "golang:1.22-alpine",
    "requirements.txt": "python:3.12-slim",
    "Cargo.toml": "rust:1.75-slim",
    "Gemfile": "ruby:3.3-slim",
}
FALLBACK = "alpine:latest"
_PATIENCE = 1800.0
_LARGEST_CONTEXT = 512 << 20
_NOT_SENT = frozenset({".git", ".hg", ".svn"})


def detect_image(project: str) -> str:
    """The image for a project by its files; `build:PROJECT` where it has a Dockerfile.

    >>> detect_image("/nonexistent")
    'alpine:latest'
    """
    if os.path.isfile(f"{project}/Dockerfile"):
        return BUILD + project
    for name, image in DETECTED.items():
        if os.path.isfile(f"{project}/{name}"):
            return image
    return FALLBACK


def present_image(
    config: ContainerConfig, engine: ContainerEngine, progress: Callable[[str], None] | None
) -> Steps[str]:
    """The name of an image that is there now: found, built or fetched; ImageMissing otherwise."""
    wanted = config.image or detect_image(config.project_path)
    if wanted.startswith(BUILD):
        built: str = yield from _built(wanted.removeprefix(BUILD), config, progress)
        return built
    name = image_name(wanted)
    found: Reply = yield ApiCall(method="GET", path=f"/images/{quote(name)}/json")
    if found.ok:
        return name
    reply: Reply = yield ApiCall(
        method="POST",
        path=f"/images/create?{_reference(name)}",
        progress=progress or _unheard,
        patience=_PATIENCE,
    )
    found = yield ApiCall(method="GET", path=f"/images/{quote(name)}/json")
    if found.ok:
        return name
    said = _error_in(reply) or found.message
    raise ImageMissing(
        f"the image {name} is not on this machine, and cannot be fetched: {said}",
        hint=f"{engine.kind} pull {name}; without a network: {engine.kind} load -i FILE.tar",
    )


def _reference(name: str) -> str:
    last = name.rpartition("/")[2]
    tag = "" if ":" in last or "@" in last else "&tag=latest"
    return f"fromImage={quote(name, safe='')}{tag}"


def _built(
    project: str, config: ContainerConfig, progress: Callable[[str], None] | None
) -> Steps[str]:
    """Builds the project's own Dockerfile, with the network that the container will have."""
    # Attack: `build:` of another directory would send that one's files into an image.
    if os.path.realpath(project) != config.project_path:
        raise UsageError(
            f"{project} is built for another project than {config.project_path}",
            hint="leave image out, or name the project's own directory",
        )
    name = f"localhost/{LABEL}:{hashlib.sha256(project.encode()).hexdigest()[:16]}"
    query = f"t={quote(name, safe='')}&rm=1&forcerm=1&networkmode={network_mode(config)}"
    query += f"&memory={memory_bytes(config.memory)}&memswap={memory_bytes(config.memory)}"
    lines: list[str] = []

    def hear(line: str) -> None:
        lines.append(line)
        del lines[:-20]
        if progress is not None:
            progress(line)

    reply: Reply = yield ApiCall(
        method="POST",
        path=f"/build?{query}",
        data=lambda: _context(project),
        progress=hear,
        patience=_PATIENCE,
    )
    said = _error_in(reply)
    if said or not reply.ok:
        hint = "see what the Dockerfile needs"
        if network_mode(config) == "none":
            hint += '; it was built without a network: network_mode="bridge"'
        raise ContainerError(f"{project}/Dockerfile cannot be built: {said}", hint=hint)
    return name


def _context(project: str) -> bytes:
    """The project as a tar; links stay links, and lead nowhere outside of it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", dereference=False) as tar:
        for directory, names, files in os.walk(project):
            names[:] = [name for name in names if name not in _NOT_SENT]
            below = os.path.relpath(directory, project)
            for name in [*files, *(n for n in names if os.path.islink(f"{directory}/{n}"))]:
                path = f"{directory}/{name}"
                kind = os.lstat(path).st_mode
                if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
                    continue  # a pipe or a device would be read for ever
                tar.add(path, os.path.normpath(f"{below}/{name}"), recursive=False)
                if made.tell() > _LARGEST_CONTEXT:
                    raise UsageError(
                        f"{project} is larger than 512 MiB, too large to build an image from",
                        hint="build it yourself, and name the image",
                    )
    return made.getvalue()


def _error_in(reply: Reply) -> str:
    """What went wrong in an answer that came line by line."""
    import json

    if not reply.ok:
        return reply.message
    for line in reversed(reply.body.splitlines()):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and told.get("error"):
            return str(told["error"]).strip()
    return ""


def _unheard(line: str) -> None:
    """Nobody listens to the progress."""
