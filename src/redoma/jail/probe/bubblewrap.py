"""Tries bubblewrap as it will be used: the first of its binaries that works."""

from __future__ import annotations

from redoma.jail.engines import bwrap_binary
from redoma.jail.probe.namespaces import nothing_held, tried, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.bubblewrap import Bubblewrap
    from redoma.model.guarantee import EngineReport


def report(engine: Bubblewrap) -> EngineReport:
    """What bubblewrap enforces here; also sets the binary that the engine will use."""
    reasons: list[str] = []
    for binary in bwrap_binary.candidates():
        version = version_of(binary)
        if bwrap_binary.version(version) < bwrap_binary.OLDEST:
            reasons.append(f"{binary} is {version or 'not runnable'}; 0.11 is needed")
            continue
        engine.binary = binary
        found = tried(engine, version=version, program=binary)
        if found.guarantees:
            return found
        _, why = found.missing[0]
        reasons.append(why)
    return nothing_held(engine.name, "; ".join(reasons) or "bubblewrap is not installed")
