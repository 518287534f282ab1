"""What a run asked of the network, in lines for a person: what was refused, and how to grant it."""

from __future__ import annotations

from redoma.faces.display import harmless
from redoma.words import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.network import Connection

_MOST = 10


def lines(calls: tuple[Connection, ...]) -> list[str]:
    """One line for what was reached, and one for each thing that was refused."""
    reached = list(dict.fromkeys(harmless(call.target) for call in calls if call.allowed))
    made = []
    if reached:
        hosts, more = ", ".join(reached[:_MOST]), len(reached) - _MOST
        told = "redoma: reached {0} and {1} more\n" if more > 0 else "redoma: reached {0}\n"
        made.append(phrased(told, hosts, more))
    refused = [call for call in calls if not call.allowed]
    made += [_refused(call) for call in refused[:_MOST]]
    if len(refused) > _MOST:
        more = len(refused) - _MOST
        made.append(phrased("redoma: refused: {0} more (--json lists them)\n", more))
    return made


def _refused(call: Connection) -> str:
    target = harmless(call.target)
    if call.grant:
        grant = harmless(call.grant)
        return phrased("redoma: refused: {0} — grant it with {1}\n", target, grant)
    return phrased("redoma: refused: {0}: {1}\n", target, phrased(call.why))
