"""What a run asked of the network, in lines for a person: what was refused, and how to grant it."""

from __future__ import annotations

from redoma.cli.display import harmless
from redoma.i18n import phrased

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
        made.append(phrased("redoma: answered by a mock: {0}\n", _few(mocked)))
    if reached:
        made.append(phrased("redoma: reached {0}\n", _few(reached)))
    refused = [call for call in calls if not call.allowed]
    made += [_refused(call) for call in refused[:_MOST]]
    if len(refused) > _MOST:
        more = len(refused) - _MOST
        made.append(phrased("redoma: refused: {0} more (--json lists them)\n", more))
    return made


def _few(hosts: list[str]) -> str:
    """The first of them, and how many more there are."""
    shown = ", ".join(hosts[:_MOST])
    more = len(hosts) - _MOST
    return phrased("{0} and {1} more", shown, more) if more > 0 else shown


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
        return phrased("redoma: visited on {0}", target)
    program = harmless(call.program)
    if call.method:
        asked = harmless(f"{call.method} {call.kind}://{call.target}{call.path}")
        by = phrased(" by a cache" if call.by == "cache" else " by a mock") if call.by else ""
        return f"redoma: {asked}: {call.status}{by}"
    if program:
        return phrased("redoma: {0} reaches {1}", program, target)
    return phrased("redoma: reaches {0}", target)


def _refused(call: Connection) -> str:
    target, grant = harmless(_told(call)), harmless(call.grant)
    why = harmless(phrased(call.why))
    if call.kind == "udp":
        return phrased("redoma: refused: {0} by UDP: {1}\n", target, why)
    if grant and call.listed:
        told = "redoma: refused: {0} — the policy has to list it, as in {1}\n"
        return phrased(told, target, grant)
    if grant:
        return phrased("redoma: refused: {0} — grant it with {1}\n", target, grant)
    return phrased("redoma: refused: {0}: {1}\n", target, why)


def _told(call: Connection) -> str:
    """A host, or a request to it."""
    return f"{call.method} {call.target}{call.path}" if call.method else call.target
