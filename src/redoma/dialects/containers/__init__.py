"""The container service of a session: `DockerService`, with the names of its specification."""

from redoma.dialects.containers.docker_service import (
    AsyncDockerService,
    DockerService,
    from_document,
)

__all__ = ["AsyncDockerService", "DockerService", "from_document"]
