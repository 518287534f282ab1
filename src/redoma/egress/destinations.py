"""Says of one destination whether it may be reached, by which rule, and where it is."""

from __future__ import annotations

import socket
from contextlib import suppress

from redoma.egress import rules
from redoma.egress.names import normal
from redoma.model.errors import UsageError
from redoma.model.network import (
    NOT_GRANTED,
    PORT_BLOCKED,
    PORT_NOT_GRANTED,
    UNREACHABLE,
    WEB_PORTS,
    Connection,
    HostRule,
    Reach,
)
from redoma.model.value import replace

__all__ = ["UNREACHABLE"]

_ANSWERED_WITHIN = 0.2


def judged(reach: Reach, name: str, place: tuple[str, int]) -> Connection:
    """What becomes of a connection to a place that stands for `name`, or for nobody."""
    address, port = place
    about = Connection(allowed=False, name=name, address="" if name else address, port=port)
    found = rules.for_name(reach, name) if name else rules.for_address(reach, address)
    if not found:
        return refused(about, NOT_GRANTED)
    if port in reach.blocked_ports:
        return refused(about, PORT_BLOCKED)
    rule = rules.on_port(found, port)
    if rule is None:
        return refused(about, PORT_NOT_GRANTED)
    return replace(about, allowed=True, rule=rule.text)


def granted(reach: Reach, host: str, port: int) -> bool:
    """Whether a host may be reached through a tunnel: by name only, on a port of its own."""
    name = normal(host)
    return bool(name) and judged(reach, name, ("", port)).allowed


def rules_for(reach: Reach, name: str, port: int) -> list[HostRule]:
    """The rules that grant a name on one port."""
    found = rules.for_name(reach, name)
    return [rule for rule in found if rule.ports is None or port in rule.ports]


def web_only(reach: Reach, name: str, port: int) -> bool:
    """Whether this port was granted as one of the web's, and not by its number."""
    return port in WEB_PORTS and all(r.ports == WEB_PORTS for r in rules_for(reach, name, port))


def places(reach: Reach, name: str, place: tuple[str, int]) -> list[tuple[str, int]]:
    """Where to dial, where that is known without asking."""
    if not name:
        return [place]
    pins = [rule for rule in rules_for(reach, name, place[1]) if rule.address]
    return [(pins[0].address, pins[0].address_port or place[1])] if pins else []


def refused(about: Connection, why: str) -> Connection:
    """The same, turned away."""
    return replace(about, allowed=False, why=why)


def with_program(about: Connection, program: str) -> Connection:
    """The same, with the program that asked for it."""
    return replace(about, program=program) if program else about


def published(port: int) -> socket.socket:
    """A socket on this machine's loopback, for whoever wants to reach the command."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise UsageError(
            f"port {port} cannot be published: {error.strerror}", hint="another port may be free"
        ) from error
    made.setblocking(False)  # noqa: FBT003
    return made


def connects(made: socket.socket, address: str, port: int) -> bool:
    """Whether somebody answers; the socket is closed where nobody does."""
    made.settimeout(_ANSWERED_WITHIN)
    try:
        made.connect((address, port))
    except OSError:
        with suppress(OSError):
            made.close()
        return False
    made.setblocking(False)  # noqa: FBT003
    return True
