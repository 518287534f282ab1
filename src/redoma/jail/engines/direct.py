"""No sandbox: a clean environment and resource limits, only where someone asked for that."""

from __future__ import annotations

from contextlib import contextmanager

from redoma.jail.engines.prepared_sandbox import PreparedSandbox, command_of, shown_as_it_is
from redoma.jail.kernel.process import packed_rlimits
from redoma.jail.protect import installation
from redoma.model.grant import EngineReport, Guarantee, Launch, RunPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.jail.engines.registry import Engines
    from redoma.jail.probe.trial import TrialRunner

_WHY = "direct runs without a sandbox"
_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.forkserver.direct_shim import main; main(sys.argv[2:])"
)


class Direct:
    """The command itself, ended as a tree; it can do what its caller can do."""

    name = "direct"

    def __init__(self, engines: Engines) -> None:
        """Nothing of the other engines is used."""

    def probe(self, run: TrialRunner) -> EngineReport:
        """That it confines nothing."""
        return EngineReport(
            name=self.name,
            version="no sandbox",
            missing=tuple((g, _WHY) for g in Guarantee),
        )

    def probe_identity(self) -> str:
        """Nothing could change what it holds."""
        return ""

    def adopt(self, report: EngineReport) -> None:
        """There is nothing to choose."""

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[PreparedSandbox]:
        """The command behind a shim that limits it and ends what it leaves."""
        _, env = shown_as_it_is(plan)
        visible = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", plan.grant.workspace)
        orders = (
            f"cwd={plan.request.cwd or plan.grant.workspace}",
            f"limits={packed_rlimits(plan.grant.limits)}",
            *(["terminal=1"] if plan.terminal else []),
        )
        shim = (installation.INTERPRETER, "-I", "-S", "-c", _START, installation.LIBRARY)
        command = command_of(plan.request.workload, env["PATH"], visible)
        launch = Launch(
            argv=(*shim, *orders, "--", *command),
            env=env,
            fds=[],
            terminal=plan.terminal,
            limits=plan.grant.limits,
            own_process_namespace=False,
        )
        yield PreparedSandbox(launch, [])

    def close(self) -> None:
        """Nothing is kept ready."""
