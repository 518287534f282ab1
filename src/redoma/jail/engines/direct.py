"""No enclosure: a clean environment and resource limits, only where someone asked for that."""

from __future__ import annotations

from contextlib import contextmanager

from redoma.jail.engines.simple import Plain, seen_by, shim
from redoma.jail.kernel.rlimits import packed_rlimits
from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.plan import Launch, RunPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WHY = "direct runs without an enclosure"


class Direct:
    """The command itself, ended as a tree; it can do what its caller can do."""

    name = "direct"

    def probe(self) -> EngineReport:
        """That it encloses nothing."""
        return EngineReport(
            name=self.name,
            version="no enclosure",
            missing=tuple((g, _WHY) for g in Guarantee),
        )

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[Plain]:
        """The command behind a shim that limits it and ends what it leaves."""
        _, env = seen_by(plan)
        orders = [
            f"cwd={plan.request.cwd or plan.grant.workspace}",
            f"limits={packed_rlimits(plan.grant.limits)}",
            *(["terminal=1"] if plan.terminal else []),
        ]
        yield Plain(
            Launch(
                argv=shim(orders, plan, env),
                env=env,
                fds=[],
                terminal=plan.terminal,
                limits=plan.grant.limits,
                own_process_namespace=False,
            ),
            [],
        )
