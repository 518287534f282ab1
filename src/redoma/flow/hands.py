"""Performs a path's steps on this machine."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.flow.steps import Apply, Ask, Discard, Execute, Note
    from redoma.flow.world import World
    from redoma.jail.probe.host import Host
    from redoma.jail.run.control import Control
    from redoma.jail.run.streams import Sink
    from redoma.model.question import Answer, Answerer
    from redoma.model.result import Result
    from redoma.record.store import Record


class Hands:
    """What one call may use: the record, whoever is asked, and the machine."""

    def __init__(
        self,
        world: World,
        host: Host,
        record: Record,
        answerer: Answerer,
        *,
        stdin: bytes | int | None = b"",
        sink: Sink | None = None,
        control: Control | None = None,
    ) -> None:
        self._world = world
        self._host = host
        self._record = record
        self.answerer = answerer
        self._stdin = stdin
        self._sink = sink
        self._control = control

    def note(self, step: Note) -> None:
        policy = self._world.policy
        if step.admits:
            self._record.admit(policy.rate_limits, *step.events)
        else:
            self._record.append(*step.events)

    def ask(self, step: Ask) -> Answer | None:
        return self.answerer.ask(step.question)

    def execute(self, step: Execute) -> Result:
        from redoma.flow.execute import execute

        return execute(
            step.plan, self._host, stdin=self._stdin, sink=self._sink, control=self._control
        )

    def apply(self, step: Apply) -> Result:
        from redoma.flow.changes import apply_run

        return apply_run(step.changes, step.plan)

    def discard(self, step: Discard) -> None:
        from redoma.flow.changes import discard

        discard(step.changes.id)
