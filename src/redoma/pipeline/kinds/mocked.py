"""What a preview has seen a command ask of the network, where a mock answered it."""

from __future__ import annotations

from redoma.model.value import replace
from redoma.pipeline.kinds.foresee import CLOSED
from redoma.pipeline.kinds.outward import UNREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.network import Connection
    from redoma.model.result import Result
    from redoma.pipeline.kinds.foresee import Foreseen

MOCKED = "nothing was sent: every request was answered by a mock, as if it had been done"
_PORTS = {"http": 80, "https": 443}


def mocked(foreseen: Foreseen, result: Result) -> Foreseen:
    """The same with what was really asked, and what was foreseen and is not among that."""
    if result.network_calls is None:
        return foreseen
    asked = [told for call in result.network_calls for told in _told(call)]
    seen = {_plain(each) for each in asked}
    left = [each for each in foreseen.network_calls if _plain(each) not in seen]
    # What ran without having been read was seen to ask.
    warnings = [each for each in foreseen.warnings if not each.startswith(UNREAD)]
    if asked:
        warnings = [*(each for each in warnings if each != CLOSED), MOCKED]
    return replace(
        foreseen,
        network_calls=tuple(dict.fromkeys((*asked, *left))),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _told(call: Connection) -> list[str]:
    """One line for what was asked; nothing for a name that was asked for on the way."""
    if call.kind == "dns":
        return []
    if not call.method:
        program = f"{call.program} " if call.program else ""
        how = "/udp" if call.kind == "udp" else ""
        return [
            f"{program}{call.target}{how}: {call.why}" if call.why else f"{program}{call.target}"
        ]
    host = call.name or call.address
    if call.port != _PORTS.get(call.kind):
        host = call.target
    line = f"{call.method} {call.kind}://{host}{call.path}"
    if call.body_size:
        line += " (1 byte)" if call.body_size == 1 else f" ({call.body_size} bytes)"
    return [line if call.allowed else f"{line}: {call.why}"]


def _plain(line: str) -> str:
    """Method and address without what comes behind the path."""
    return line.partition(" (")[0].partition("?")[0].rstrip("/")
