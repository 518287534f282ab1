"""A container that stays while several commands run in it: what is asked for, and what is known."""

from __future__ import annotations

from redoma.model.errors import IsolationError
from redoma.model.grant import Guarantee
from redoma.model.value import Value


class ContainerConfig(Value):
    """What a container is made with; the defaults are the strict ones.

    `image` is a name, `build:PATH` for the Dockerfile of a project, or nothing to have it found by
    the project's files. `project_path` is mounted at `/workspace`, and nothing else of the machine
    is. `network_mode` is `none` or `bridge`; `ports` are published on this machine's loopback.
    `without` names guarantees that the caller can do without: any other that does not hold is a
    refusal.

    >>> from redoma import ContainerConfig
    >>> ContainerConfig(project_path="/srv/app").memory
    '2g'
    """

    __module__ = "redoma"

    image: str = ""
    project_path: str
    memory: str = "2g"
    cpus: str = "2"
    shell: str = "/bin/sh"
    ports: tuple[str, ...] = ()
    env_vars: tuple[str, ...] = ()
    read_only: bool = True
    network_mode: str = "none"
    without: frozenset[Guarantee] = frozenset()


class ContainerInfo(Value):
    """One container of ours: its id and name, what it was made from, and how it stands."""

    __module__ = "redoma"

    id: str
    name: str
    image: str
    status: str
    project_path: str
    # `PID-START` of the process that made it.
    owner: str


class ContainerEngine(Value):
    """Docker Engine or Podman, as it answers on its socket."""

    kind: str  # `docker` or `podman`
    version: str
    socket: str
    rootless: bool = False


class ContainerError(IsolationError):
    """A container engine does not answer, or does not do what was asked of it."""

    __module__ = "redoma"

    code = "container"


class ContainerGone(ContainerError):
    """There is no such container."""

    code = "container-gone"


class ImageMissing(ContainerError):
    """The image of a container is not on this machine, and cannot be had."""

    __module__ = "redoma"

    code = "image-missing"
