"""What a run asked of the network, in lines for a person: what was refused, and how to grant it."""

from __future__ import annotations

from redoma.faces.display import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.network import Connection

_MOST = 10


def lines(calls: tuple[Connection, ...]) -> list[str]:
    """One line for what was reached, and one for each thing that was refused."""
    reached = list(dict.fromkeys(harmless(_told(call)) for call in calls if call.allowed))
    made = []
    if reached:
        more = f" and {len(reached) - _MOST} more" if len(reached) > _MOST else ""
        made.append(f"redoma: reached {', '.join(reached[:_MOST])}{more}\n")
    refused = [call for call in calls if not call.allowed]
    made += [_refused(call) for call in refused[:_MOST]]
    if len(refused) > _MOST:
        made.append(f"redoma: refused: {len(refused) - _MOST} more (--json lists them)\n")
    return made


def _refused(call: Connection) -> str:
    text = f"redoma: refused: {harmless(_told(call))}: {harmless(call.why)}"
    if call.grant:
        text = f"redoma: refused: {harmless(_told(call))} — grant it with {harmless(call.grant)}"
    return text + "\n"


def _told(call: Connection) -> str:
    """A host, or a request to it."""
    return f"{call.method} {call.target}{call.path}" if call.method else call.target
