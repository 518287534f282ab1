"""Runs a command whose writes are held: in a layer, with every other machine out of reach."""

from __future__ import annotations

from redoma.base.paths import is_within
from redoma.model.request import Mode
from redoma.model.value import replace
from redoma.pipeline.context import World
from redoma.pipeline.drive import drive
from redoma.pipeline.path import path
from redoma.pipeline.requests import request_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.jail.supervisor.control import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.result import Result
    from redoma.pipeline.sandbox import Sandbox


class HeldRun:
    """How to run commands of one sandbox so that nothing of them lasts."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        stdin: bytes | int | None = b"",
        sink: Sink | None = None,
        control: Control | None = None,
        cwd: str = "",
        timeout: float | None = None,
        onto: str = "",
    ) -> None:
        """`onto` names held changes that the run goes on from."""
        self.workspace = sandbox.workspace
        self.not_held = tuple(p for p in sandbox.also_writable if not is_within(p, self.workspace))
        self._sandbox = sandbox
        self._stdin = stdin
        self._sink = sink
        self._control = control
        self._cwd = cwd
        self._timeout = timeout
        self._onto = onto

    def __call__(
        self, command: str | Sequence[str], instead: str = "", *, mocks: bool = False
    ) -> Result:
        """Judges the command; runs it, or what stands for it, with its writes held.

        `mocks` has its requests answered by a mock, so that it can be seen what it would ask.
        """
        request = request_for(
            command,
            self._sandbox.started_in(self._cwd),
            Mode.PREVIEW,
            self._sandbox.who,
            stdin=self._stdin,
        )
        request = replace(request, onto=self._onto)
        world = World(self._sandbox, self._timeout, instead=instead, mocks=mocks, stdin=self._stdin)
        hands = self._sandbox.hands(world, sink=self._sink, control=self._control)
        return drive(path(request, world), hands)


def remember(result: Result, command: str, asks: tuple[str, ...] = ()) -> None:
    """Keeps what a run holds, so that it can be applied later, by another process too.

    `asks` is why that has to be confirmed; a preview of what has to be is not confirmed by itself.
    """
    from redoma.jail.overlay.store import find_overlay
    from redoma.jail.overlay.transaction_store import store_changes
    from redoma.model.decision import Verdict

    changes, decision = result.changes, result.decision
    if changes is None or not changes.held:
        return
    if decision is not None and decision.verdict is Verdict.CONFIRM:
        asks = decision.because or (decision.rule,)
    layer = find_overlay(changes.id)
    if layer is not None:
        store_changes(layer, changes, command=command, asks=asks)
