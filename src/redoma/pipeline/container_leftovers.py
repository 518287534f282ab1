"""Removes containers whose owner has ended: what a crash of the host left behind."""

from __future__ import annotations

from redoma.base.log import logger
from redoma.model.container import ContainerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.container import ContainerInfo

log = logger(__name__)


def collect_containers(*, only_tell: bool) -> list[ContainerInfo]:
    """What was removed, or would be, on every engine that answers here."""
    from redoma.jail.containers.discovery import engines_here
    from redoma.jail.containers.engine_socket import drive
    from redoma.jail.containers.lifecycle import collected

    found: list[ContainerInfo] = []
    try:
        engines = engines_here()
    except (ContainerError, OSError) as error:
        log.info("no container engine: %s", error)
        return found
    for socket, engine in engines:
        try:
            found += drive(collected(engine, dry_run=only_tell), socket)
        except ContainerError as error:
            log.warning("containers of %s: %s", engine.kind, error)
    return found
