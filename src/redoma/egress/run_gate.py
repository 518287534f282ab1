"""Opens the egress gate of one run, and closes it with everything that it let through."""

from __future__ import annotations

from redoma.egress import host_rules
from redoma.egress.gate import EgressGate
from redoma.jail.kernel.netns_sockets import LISTEN, NetnsSockets
from redoma.model.errors import EngineFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.egress.ledger import Tell
    from redoma.model.grant import Launch
    from redoma.model.network import Connection
    from redoma.model.result import Outcome

# Where connections cannot be redirected, each granted port needs a listener.
_MOST_PORTS = 60


class RunGate:
    """The gate of one run, with the sockets inside that it serves."""

    def __init__(
        self,
        launch: Launch,
        first: int,
        wake: Callable[[], None],
        tell: Tell | None = None,
    ) -> None:
        reach, authority = launch.gate, launch.authority
        assert reach is not None
        local = host_rules.local_ports(reach)
        ports = {p for r in reach.hosts for p in r.ports or () if r.host != host_rules.LOCALHOST}
        self._calls: tuple[Connection, ...] | None = None
        self._netns = NetnsSockets(
            first,
            ports=tuple(sorted(ports))[:_MOST_PORTS],
            local=local,
            stays=bool(reach.publish),
        )
        every = reach.every_host or any(rule.ports is None for rule in reach.hosts)
        if self._netns.mode == LISTEN and (every or len(ports) > _MOST_PORTS):
            self._netns.close()
            raise EngineFailed(
                "this kernel cannot redirect connections, so every port has to be named,"
                f" and no more than {_MOST_PORTS} of them",
                hint="grant HOST:PORT instead of HOST:*, or load nf_tables",
            )
        try:
            self._gate = EgressGate(
                reach,
                self._netns,
                first,
                wake,
                tell,
                authority=authority,
                secrets=launch.secrets,
            )
            self._gate.start()
        except BaseException:
            self._netns.close()
            raise

    @property
    def trouble(self) -> Outcome | None:
        """Why the run has to end, where the gate says so."""
        return self._gate.trouble

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of how this gate worked."""
        left_out = self._gate.ledger.left_out
        notes = [f"{left_out} more connections are not listed"] if left_out else []
        if self._netns.mode == LISTEN:
            notes.append(
                "this kernel cannot redirect connections: those to ports that are not granted"
                " were refused, and are not listed"
            )
        return tuple(notes)

    def close(self) -> tuple[Connection, ...]:
        """Ends every connection; what became of all of them, also when asked again."""
        if self._calls is None:
            self._calls = self._gate.stop()
            self._netns.close()
        return self._calls
