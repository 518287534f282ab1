"""`DockerService`: the document's nine operations, by its own names and by Python's."""

from __future__ import annotations

from typing import Any

import redoma

_AS_DOCUMENTED = {
    "CPUs": "cpus",
    "EnvVars": "env_vars",
    "Image": "image",
    "Memory": "memory",
    "NetworkMode": "network_mode",
    "Ports": "ports",
    "ProjectPath": "project_path",
    "ReadOnly": "read_only",
    "Shell": "shell",
}


def from_document(**fields: Any) -> redoma.ContainerConfig:
    """A `ContainerConfig` from the document's own field names.

    >>> from_document(ProjectPath="/srv/app", CPUs="1").cpus
    '1'
    """
    unknown = sorted(set(fields) - set(_AS_DOCUMENTED))
    if unknown:
        raise redoma.UsageError(
            f"a ContainerConfig has no {', '.join(unknown)}",
            hint=f"its fields: {', '.join(_AS_DOCUMENTED)}",
        )
    given = {_AS_DOCUMENTED[name]: value for name, value in fields.items()}
    for name in ("ports", "env_vars"):
        if name in given:
            given[name] = tuple(given[name])
    return redoma.ContainerConfig(**given)


class DockerService(redoma.ContainerService):
    """The container service of a session, by the names of its specification."""

    create_container = CreateContainer = redoma.ContainerService.create
    start_container = StartContainer = redoma.ContainerService.start
    stop_container = StopContainer = redoma.ContainerService.stop
    remove_container = RemoveContainer = redoma.ContainerService.remove
    restart_container = RestartContainer = redoma.ContainerService.restart
    is_docker_available = IsDockerAvailable = redoma.ContainerService.is_available
    get_container_status = GetContainerStatus = redoma.ContainerService.status
    list_containers = ListContainers = redoma.ContainerService.list
    exec_in_container = ExecInContainer = redoma.ContainerService.exec
    DetectImage = redoma.ContainerService.detect_image
    build_run_args = redoma.ContainerService.run_args


class AsyncDockerService(redoma.AsyncContainerService):
    """The same, awaited."""

    create_container = CreateContainer = redoma.AsyncContainerService.create
    start_container = StartContainer = redoma.AsyncContainerService.start
    stop_container = StopContainer = redoma.AsyncContainerService.stop
    remove_container = RemoveContainer = redoma.AsyncContainerService.remove
    restart_container = RestartContainer = redoma.AsyncContainerService.restart
    is_docker_available = IsDockerAvailable = redoma.AsyncContainerService.is_available
    get_container_status = GetContainerStatus = redoma.AsyncContainerService.status
    list_containers = ListContainers = redoma.AsyncContainerService.list
    exec_in_container = ExecInContainer = redoma.AsyncContainerService.exec
    DetectImage = redoma.AsyncContainerService.detect_image
    build_run_args = redoma.AsyncContainerService.run_args
