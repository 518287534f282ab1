"""The place of containers among the engines; it gives nothing yet, and says so."""

from __future__ import annotations

from contextlib import contextmanager

from redoma.model.errors import EngineFailed
from redoma.model.guarantee import EngineReport, Guarantee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.jail.engines.base import Enclosure
    from redoma.model.plan import RunPlan

_WHY = "containers are not an engine of this version"


class Container:
    """Docker and Podman; never chosen, since it gives no guarantee."""

    name = "container"

    def probe(self) -> EngineReport:
        """Nothing, with the reason for each."""
        return EngineReport(name=self.name, missing=tuple((g, _WHY) for g in Guarantee))

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[Enclosure]:
        """Refuses: there is nothing that a container would hold yet."""
        if plan.engine == self.name:
            raise EngineFailed(_WHY, hint="redoma doctor")
        yield from ()
