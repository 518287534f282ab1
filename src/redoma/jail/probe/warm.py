"""Tries the resident launcher's enclosure as it will be used."""

from __future__ import annotations

import sys

from redoma.jail.probe.bubblewrap import _BARE as WITHOUT_OVERLAYS
from redoma.jail.probe.bubblewrap import EVERYTHING, MECHANISMS, hints, try_out
from redoma.model.guarantee import EngineReport, Guarantee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.warm import Warm


def report(engine: Warm) -> EngineReport:
    """What held when it was tried."""
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    for overlays in (True, False):
        engine.overlays = overlays
        held, why = try_out(engine, engine.name)
        if held:
            version += "" if overlays else WITHOUT_OVERLAYS
            break
        engine.close()
    missing = EVERYTHING - held
    return EngineReport(
        name=engine.name,
        version=version if held else "",
        program=engine.binary if held else "",
        guarantees=held,
        missing=tuple((g, why or "it did not hold when tried") for g in Guarantee if g in missing),
        mechanisms=tuple((g, how) for g, how in MECHANISMS if g in held),
        hints=() if held else hints(why),
    )
