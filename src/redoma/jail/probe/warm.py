"""Tries the resident launcher's enclosure as it will be used."""

from __future__ import annotations

import sys

from redoma.jail.probe.namespaces import tried

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.warm import Warm
    from redoma.model.guarantee import EngineReport


def report(engine: Warm) -> EngineReport:
    """What held when it was tried."""
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return tried(engine, version=version, program=engine.binary)
