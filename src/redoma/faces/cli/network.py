"""What a run asked of the network, in lines for a person: what was refused, and how to grant it."""

from __future__ import annotations

from redoma.faces.display import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redoma.model.network import Connection

_MOST = 10


def lines(calls: tuple[Connection, ...]) -> list[str]:
    """One line for what was reached, and one for each thing that was refused."""
    reached = _targets(call for call in calls if call.allowed and call.by != "mock")
    mocked = _targets(call for call in calls if call.allowed and call.by == "mock")
    made = []
    if mocked:
        more = f" and {len(mocked) - _MOST} more" if len(mocked) > _MOST else ""
        made.append(f"redoma: answered by a mock: {', '.join(mocked[:_MOST])}{more}\n")
    if reached:
        more = f" and {len(reached) - _MOST} more" if len(reached) > _MOST else ""
        made.append(f"redoma: reached {', '.join(reached[:_MOST])}{more}\n")
    refused = [call for call in calls if not call.allowed]
    made += [_refused(call) for call in refused[:_MOST]]
    if len(refused) > _MOST:
        made.append(f"redoma: refused: {len(refused) - _MOST} more (--json lists them)\n")
    return made


def _targets(calls: Iterable[Connection]) -> list[str]:
    return list(dict.fromkeys(harmless(_told(call)) for call in calls))


def live(*, raw: bool = False) -> Callable[[Connection], bytes]:
    """Words a connection as it happens, in one line; `raw` is for a terminal that ends none."""
    end = "\r\n" if raw else "\n"

    def line(call: Connection) -> bytes:
        text = _refused(call).rstrip("\n") if not call.allowed else _begun(call)
        return f"{text}{end}".encode()

    return line


def _begun(call: Connection) -> str:
    target = harmless(call.target)
    if call.kind == "published":
        return f"redoma: visited on {target}"
    program = harmless(call.program)
    if call.method:
        asked = harmless(f"{call.method} {call.kind}://{call.target}{call.path}")
        by = f" by a {call.by}" if call.by else ""
        return f"redoma: {asked}: {call.status}{by}"
    return f"redoma: {program} reaches {target}" if program else f"redoma: reaches {target}"


def _refused(call: Connection) -> str:
    target, grant = harmless(_told(call)), harmless(call.grant)
    if call.kind == "udp":
        return f"redoma: refused: {target} by UDP: {call.why}\n"
    if grant and call.listed:
        return f"redoma: refused: {target} — the policy has to list it, as in {grant}\n"
    if grant:
        return f"redoma: refused: {target} — grant it with {grant}\n"
    return f"redoma: refused: {target}: {harmless(call.why)}\n"


def _told(call: Connection) -> str:
    """A host, or a request to it."""
    return f"{call.method} {call.target}{call.path}" if call.method else call.target
