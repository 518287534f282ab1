"""Runs a command whose writes are held: in a layer, with every other machine out of reach."""

from __future__ import annotations

from redoma.flow.drive import drive
from redoma.flow.path import path
from redoma.flow.sandbox import Hands, request_for
from redoma.model.access import Network, Writes
from redoma.model.guarantee import Guarantee
from redoma.model.request import Mode
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redoma.flow.sandbox import Sandbox
    from redoma.jail.run.control import Control
    from redoma.jail.run.streams import Sink
    from redoma.model.access import Grant
    from redoma.model.decision import Decision
    from redoma.model.plan import Plan
    from redoma.model.request import Request
    from redoma.model.result import Result

_REQUIRED = frozenset((Guarantee.CHANGES_HELD, Guarantee.NETWORK_CLOSED))


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
    ) -> None:
        self.workspace = sandbox.workspace
        self.not_held = tuple(p for p in sandbox._grant.writable if not _inside(p, self.workspace))
        self._sandbox = sandbox
        self._hands = Hands(
            sandbox._host, sandbox._confirm, stdin=stdin, sink=sink, control=control
        )
        self._cwd = cwd

    def __call__(self, command: str | Sequence[str], instead: str = "") -> Result:
        """Judges the command; runs it, or what stands for it, with its writes held."""
        request = request_for(command, self._cwd, Mode.PREVIEW)
        return drive(path(request, _World(self._sandbox, instead)), self._hands)


def _inside(path: str, workspace: str) -> bool:
    return f"{path}/".startswith(f"{workspace}/")


class _World:
    """The path's view of a preview: judged as asked for, run as it may be looked at."""

    def __init__(self, sandbox: Sandbox, instead: str) -> None:
        self.judge: Callable[[Request], Decision] | None = sandbox.judge
        self._sandbox = sandbox
        self._instead = instead

    def grant(self, request: Request, decision: Decision | None) -> Grant:
        """The sandbox's own, with writes held and the network closed whatever its level says."""
        del request, decision
        grant = self._sandbox._grant
        return replace(
            grant,
            writes=Writes.LAYER,
            network=Network.CLOSED,
            # No layer lies over these: a preview that wrote there would be none.
            writable=(),
            readable=(*grant.readable, *grant.writable),
            require=grant.require | _REQUIRED,
        )

    def plan(self, request: Request, grant: Grant) -> Plan:
        if self._instead:
            request = replace(request, workload=request_for(self._instead).workload)
        return self._sandbox._plan(request, grant, terminal=False)


def remember(result: Result, command: str) -> None:
    """Keeps what a run holds, so that it can be applied later, by another process too."""
    from redoma.jail.overlay.kept import keep
    from redoma.jail.overlay.store import find_layer

    changes = result.changes
    if changes is None or not changes.items:
        return
    layer = find_layer(changes.id)
    if layer is not None:
        keep(layer, changes, command=command)
