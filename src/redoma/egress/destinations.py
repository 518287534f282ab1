"""Of one connection: whom it was meant for, whether it may reach that, and which program asked."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from socket import (
    AF_INET,
    AF_INET6,
    IPPROTO_IP,
    IPPROTO_IPV6,
    SO_REUSEADDR,
    SOCK_STREAM,
    SOL_SOCKET,
    inet_ntop,
    inet_pton,
    socket,
)

from redoma.egress import host_rules
from redoma.egress.hosts import carried, is_metadata, normal
from redoma.jail.kernel.netns import inode_of, leads_here
from redoma.jail.kernel.process import process_tree
from redoma.model.errors import UsageError
from redoma.model.network import (
    METADATA_ADDRESS,
    NOT_GRANTED,
    NOT_PUBLIC,
    OWN_ADDRESS,
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
SPARE_DESCRIPTORS = 64
_ORIGINAL = 80
# Looking is for the telling only: where it would take long, nothing is told.
_MOST_PROCESSES = 32
_MOST_DESCRIPTORS = 512
# Attack: a thousand descriptors in each of many processes, and every connection looked for in all.
_SHARE_OF_TIME = 0.1
_CREDIT = 0.2
# A program that opens one connection after the other gets the next numbers for them.
_NEXT_ONES = 3


def judged(reach: Reach, name: str, place: tuple[str, int]) -> Connection:
    """What becomes of a connection to a place that stands for `name`, or for nobody."""
    address, port = place
    about = Connection(allowed=False, name=name, address="" if name else address, port=port)
    found = host_rules.for_name(reach, name) if name else host_rules.for_address(reach, address)
    if not found:
        return refused(about, NOT_GRANTED)
    if not name and found == [host_rules.ANYONE] and not reach.mock and forbidden(address):
        return refused(about, forbidden(address))
    if port in reach.blocked_ports:
        return refused(about, PORT_BLOCKED)
    rule = host_rules.on_port(found, port)
    if rule is None:
        return refused(about, PORT_NOT_GRANTED)
    return replace(about, allowed=True, rule=rule.text)


def forbidden(address: str) -> str:
    """Why no name leads to an address, whoever owns the name; nothing where it may."""
    if is_metadata(address):
        return METADATA_ADDRESS
    inner = carried(address)
    try:
        here = leads_here(inet_pton(AF_INET6 if ":" in inner else AF_INET, inner))
    except (OSError, ValueError):
        here = True  # what cannot be looked up is not dialled
    return OWN_ADDRESS if here else ""


def why_not(rules: list[HostRule], address: str) -> str:
    """Why a granted name is not dialled at an address; nothing where it is.

    Attack: a name whose owner points it at this machine, by any of its addresses, or at the place
    where a cloud hands out credentials.
    """
    fit = [rule for rule in rules if host_rules.may_be_at(rule, address)]
    if not fit:
        return NOT_PUBLIC
    # A network that was granted is no such place in it, unless it is nothing else.
    base = [rule.inside.partition("/")[0] for rule in fit if rule.inside]
    if any(each == address or (each and forbidden(each)) for each in base):
        return ""
    return forbidden(address)


def granted(reach: Reach, host: str, port: int) -> bool:
    """Whether a host may be reached through a tunnel: by name only, on a port of its own."""
    name = normal(host)
    return bool(name) and judged(reach, name, ("", port)).allowed


def rules_for(reach: Reach, name: str, port: int) -> list[HostRule]:
    """The rules that grant a name on one port."""
    found = host_rules.for_name(reach, name)
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


def published(port: int) -> socket:
    """A socket on this machine's loopback, for whoever wants to reach the command."""
    made = socket(AF_INET, SOCK_STREAM)
    try:
        made.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise UsageError(
            f"port {port} cannot be published: {error.strerror}", hint="another port may be free"
        ) from error
    made.setblocking(False)  # noqa: FBT003
    return made


def connects(made: socket, address: str, port: int) -> bool:
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


def original(client: socket, *, redirected: bool) -> tuple[str, int] | None:
    """Whom a connection was meant for; None for one that was made to the gate's own port."""
    try:
        if not redirected:
            address, port = client.getsockname()[:2]
            return address, port
        if client.family == AF_INET:
            raw = client.getsockopt(IPPROTO_IP, _ORIGINAL, 16)
            return inet_ntop(AF_INET, raw[4:8]), int.from_bytes(raw[2:4], "big")
        raw = client.getsockopt(IPPROTO_IPV6, _ORIGINAL, 28)
        return inet_ntop(AF_INET6, raw[8:24]), int.from_bytes(raw[2:4], "big")
    except OSError:
        return None


def own(client: socket) -> str:
    """The address of our own end, which a loopback connection was made to."""
    try:
        return str(client.getsockname()[0])
    except OSError:
        return ""


def descriptors_left() -> int:
    """How many connections a process may have besides what it has open."""
    from resource import RLIMIT_NOFILE, getrlimit

    most = getrlimit(RLIMIT_NOFILE)[0]
    return max(4, most - len(os.listdir("/proc/self/fd")) - SPARE_DESCRIPTORS)


class ProgramLookup:
    """The programs of one sandbox, below its first process."""

    def __init__(self, first: int, kernel: socket | None) -> None:
        self._first = first
        self._kernel = kernel
        # Who asked last asks again, more often than not, by the same descriptor or the next.
        self._last = 0
        self._number = 0
        self._credit = _CREDIT
        self._since = time.monotonic()

    def behind(self, client: socket, place: tuple[str, int]) -> str:
        """The name of the program that connected to a place, or nothing."""
        if self._kernel is None:
            return ""
        try:
            address, port = client.getpeername()[:2]
            family = AF_INET6 if ":" in place[0] else AF_INET
            here = (inet_pton(family, address), port)
            inode = inode_of(self._kernel, family, here, (inet_pton(family, place[0]), place[1]))
            return self._holder(f"socket:[{inode}]") if inode else ""
        except (OSError, ValueError):
            return ""

    def _holder(self, wanted: str) -> str:
        for number in range(self._number, self._number + _NEXT_ONES) if self._last else ():
            if _is(self._last, number, wanted):
                self._number = number
                return _name(self._last)
        began = time.monotonic()
        self._credit = min(_CREDIT, self._credit + (began - self._since) * _SHARE_OF_TIME)
        self._since = began
        if self._credit <= 0:
            return ""
        try:
            return self._searched(wanted)
        finally:
            self._credit -= time.monotonic() - began

    def _searched(self, wanted: str) -> str:
        known = [self._last] if self._last else []
        pids = process_tree(self._first)
        if len(pids) > _MOST_PROCESSES:
            pids = known
        for pid in (*known, *reversed(pids)):
            number = _number_of(pid, wanted)
            if number >= 0:
                self._last, self._number = pid, number
                return _name(pid)
        return ""


def _number_of(pid: int, wanted: str) -> int:
    """Which descriptor of a process this is; -1 for none of them."""
    with suppress(OSError):
        numbers = os.listdir(f"/proc/{pid}/fd")
        if len(numbers) > _MOST_DESCRIPTORS:
            return -1
        for number in reversed(numbers):  # the newest first
            if _is(pid, int(number), wanted):
                return int(number)
    return -1


def _is(pid: int, number: int, wanted: str) -> bool:
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/fd/{number}") == wanted
    return False


def _name(pid: int) -> str:
    with suppress(OSError), open(f"/proc/{pid}/comm") as file:
        return file.read().strip()
    return ""
