"""Tries the enclosure of util-linux as it will be used."""

from __future__ import annotations

import os
import shutil
import tempfile

from redoma.jail import places
from redoma.jail.engines.unshare import GIVES, TOOLS
from redoma.jail.probe.bubblewrap import hints
from redoma.jail.probe.inside import SCRIPT, read
from redoma.jail.run.supervise import run
from redoma.model.access import Grant, Limits
from redoma.model.errors import IsolationError
from redoma.model.guarantee import Enforcement, EngineReport, Guarantee
from redoma.model.plan import Plan
from redoma.model.request import Request, ShellCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.unshare import Unshare

_NO_FILTER = "util-linux cannot load a filter of system calls"


def report(engine: Unshare) -> EngineReport:
    """What held when it was tried."""
    held, why = _try(engine)
    if not held:
        return EngineReport(
            name="unshare", missing=tuple((g, why) for g in Guarantee), hints=hints(why)
        )
    return EngineReport(
        name="unshare",
        version="util-linux",
        guarantees=held,
        missing=tuple(
            (g, _NO_FILTER if g is Guarantee.SYSCALLS_FILTERED else "not with util-linux alone")
            for g in Guarantee
            if g not in held
        ),
        mechanisms=tuple((g, _how(g)) for g in Guarantee if g in held),
    )


def _try(engine: Unshare) -> tuple[frozenset[Guarantee], str]:
    if os.geteuid() == 0:
        return frozenset(), "run by root the command would keep root's kernel uid"
    lacking = [
        tool for tool in TOOLS if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None
    ]
    if lacking:
        return frozenset(), f"not installed: {', '.join(lacking)}"
    place = tempfile.mkdtemp(prefix="probe-", dir=places.cache())
    try:
        limits = Limits(memory=1 << 28, processes=32, wall_seconds=10)
        made = Plan(
            request=Request(workload=ShellCommand(text=SCRIPT)),
            grant=Grant(level="probe", workspace=place, limits=limits),
            engine="unshare",
            enforcement=Enforcement(engine="unshare", required=frozenset(), held=frozenset()),
        )
        with engine.prepare(made) as enclosure:
            ended = run(enclosure.launch, directory=place)
            enclosure.settle()
    except (IsolationError, OSError) as error:
        return frozenset(), str(error)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if ended.code != 0:
        return frozenset(), ended.stderr.decode(errors="replace").strip()[:300]
    return read(ended.stdout.decode(errors="replace")) & GIVES, ""


def _how(guarantee: Guarantee) -> str:
    if guarantee is Guarantee.TREE_KILLED:
        return "process namespace; it outlives a supervisor that is itself killed"
    return "namespaces made by util-linux"
