"""Tries the enclosure of util-linux as it will be used."""

from __future__ import annotations

from redoma.jail.engines import unshare
from redoma.jail.probe.namespaces import nothing_held, tried, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.unshare import Unshare
    from redoma.model.guarantee import EngineReport


def report(engine: Unshare) -> EngineReport:
    """What held when it was tried."""
    program = unshare.program()
    if not program:
        return nothing_held(engine.name, "util-linux is not installed")
    return tried(engine, version=version_of(program), program=program)
