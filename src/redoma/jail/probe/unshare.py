"""Tries the enclosure of util-linux as it will be used."""

from __future__ import annotations

from redoma.jail.engines import unshare
from redoma.jail.probe.bubblewrap import _BARE as WITHOUT_OVERLAYS
from redoma.jail.probe.bubblewrap import EVERYTHING, MECHANISMS, hints, try_out
from redoma.jail.run.supervise import run
from redoma.model.errors import IsolationError
from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.plan import Launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.unshare import Unshare


def report(engine: Unshare) -> EngineReport:
    """What held when it was tried."""
    program = unshare.program()
    held, why = frozenset[Guarantee](), "util-linux is not installed"
    version = _version(program)
    for overlays in (True, False) if program else ():
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
        program=program if held else "",
        guarantees=held,
        missing=tuple((g, why or "it did not hold when tried") for g in Guarantee if g in missing),
        mechanisms=tuple((g, how) for g, how in MECHANISMS if g in held),
        hints=() if held else hints(why),
    )


def _version(program: str) -> str:
    launch = Launch(argv=(program, "--version"), env={}, fds=[], own_process_namespace=False)
    try:
        return run(launch).stdout.decode(errors="replace").strip().rpartition(" ")[2]
    except (IsolationError, OSError):
        return ""
