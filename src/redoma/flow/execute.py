"""Runs a plan on this machine: enclosure, supervisor, and what is taken back afterwards."""

from __future__ import annotations

from redoma.jail.run.supervise import run
from redoma.model.call import LARGEST
from redoma.model.errors import EngineFailed
from redoma.model.request import PythonCall
from redoma.model.result import Result
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.jail.overlay.layer import Layer
    from redoma.jail.probe.host import Host
    from redoma.jail.run.control import Control
    from redoma.jail.run.streams import Sink
    from redoma.model.change import Changes
    from redoma.model.plan import Launch, Plan


def execute(
    plan: Plan,
    host: Host,
    *,
    stdin: bytes | int | None = b"",
    sink: Sink | None = None,
    control: Control | None = None,
    permit: Callable[[], object] | None = None,
) -> Result:
    """The result of running a plan; an enclosure that cannot be built is an error, never a run.

    The command begins when `permit` returns, and not at all where that raises.
    """
    engine = host.engine(plan.engine)
    host.has_run = True
    try:
        with engine.prepare(plan) as enclosure:
            layer = enclosure.layer
            launch = enclosure.launch
            if isinstance(plan.request.workload, PythonCall):
                launch = replace(launch, answers=LARGEST + 1)
            ended = run(
                _with_secrets(launch),
                stdin=stdin,
                sink=sink,
                control=control,
                permit=permit,
                groups=host.groups(),
                directory=layer.directory if layer is not None else plan.grant.workspace,
            )
            taken = enclosure.settle()
            notes = (*enclosure.notes, *ended.notes)
            changes = _held(layer) if layer is not None else None
    except EngineFailed:
        host.forget(plan.engine)
        raise
    return Result(
        outcome=ended.outcome,
        exit=ended,
        enforcement=plan.enforcement,
        held_back=taken,
        notes=notes,
        changes=changes,
    )


def _with_secrets(launch: Launch) -> Launch:
    """The same, with what its gate adds to requests; taken only when everything else stands."""
    if launch.gate is None or not launch.gate.credentials:
        return launch
    from redoma.flow.credentials import secrets_of

    return replace(launch, secrets=secrets_of(launch.gate.credentials))


def _held(layer: Layer) -> Changes:
    """What a run's layer holds; one that holds nothing is not kept."""
    from redoma.jail.overlay.changes import read_changes
    from redoma.jail.overlay.spares import put_aside

    changes = read_changes(layer)
    if not changes.items:
        put_aside(layer)
    return changes
