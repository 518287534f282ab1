"""Turns a grant into one whose network has an egress gate."""

from __future__ import annotations

from redoma.egress.host_rules import LOCALHOST, OWN_LOOPBACK, read
from redoma.model.errors import Refused, UsageError
from redoma.model.grant import Grant, Guarantee, NetworkMode, Syscalls
from redoma.model.network import Reach
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.network import HostRule

_MOST_OF_AN_OPEN_NETWORK = 1000


def gated(grant: Grant, reach: Reach) -> Grant:
    """The same grant with these hosts, and no others; it runs only where a gate holds that."""
    if not grant.network_grants or grant.syscalls is Syscalls.STRICTEST:
        from redoma.model.remedies import Help, Remedy

        raise UsageError(
            f"the level {grant.level} has no network, and no host can be granted in it",
            hint=Remedy(help=Help.LEVEL_WITH_NETWORK),
        )
    require = grant.require - {Guarantee.NETWORK_CLOSED} | {Guarantee.NETWORK_ALLOW_LISTED}
    return replace(grant, network=NetworkMode.GATED, reach=reach, require=require)


def kept_to(
    grant: Grant, hosts: tuple[str, ...] | None, blocked_ports: tuple[int, ...], most: int | None
) -> Grant:
    """A grant held to a policy's rules: an open network is gated, a gated one grants nothing more.

    Without a list every host is reached as before, through a gate that holds ports and numbers.
    A host that was asked for and is not on the list is an error that names it.
    """
    if hosts is None:
        return _numbered(grant, blocked_ports, most)
    listed = read(hosts, blocked_ports=blocked_ports, max_connections=most)
    listed = replace(listed, listed=True)
    limits = {
        "blocked_ports": listed.blocked_ports,
        "max_connections": listed.max_connections,
    }
    if grant.network is not NetworkMode.GATED:
        return gated(grant, replace(listed, inspect=grant.reach.inspect))
    asked = grant.reach
    if asked.anyone:
        return gated(grant, replace(asked, hosts=listed.hosts, anyone=False, listed=True, **limits))
    local = any(host.strip().lower() in OWN_LOOPBACK for host in hosts)
    for rule in asked.hosts:
        if not (
            local if rule.host == LOCALHOST else any(covers(each, rule) for each in listed.hosts)
        ):
            raise Refused(
                f"the policy does not let {rule.text} be reached",
                hint=f"network.allowed_hosts: {', '.join(hosts) or 'nobody'}",
            )
    return _numbered(replace(grant, reach=replace(asked, listed=True)), blocked_ports, most)


def _numbered(grant: Grant, blocked_ports: tuple[int, ...], most: int | None) -> Grant:
    """The same hosts, but for some ports, and so many connections at one time."""
    reach = grant.reach
    if grant.network is not NetworkMode.GATED:
        most_now = _MOST_OF_AN_OPEN_NETWORK
        reach = Reach(anyone=True, inspect=reach.inspect, max_connections=most_now)
    made = replace(
        reach,
        blocked_ports=tuple(dict.fromkeys((*reach.blocked_ports, *blocked_ports))),
        max_connections=min(reach.max_connections, reach.max_connections if most is None else most),
    )
    return gated(grant, made)


def covers(listed: HostRule, asked: HostRule) -> bool:
    """Whether one rule grants everything that another asks for."""
    below = listed.host.startswith("*.") and asked.host.endswith(listed.host[1:])
    if listed.host != asked.host and not below:
        return False
    # A list that grants some requests only grants no others.
    if listed.methods and not (asked.methods and set(asked.methods) <= set(listed.methods)):
        return False
    if listed.path and listed.path != asked.path:
        return False
    # Where a name is, is not for a command line to say against a policy's list.
    place = (asked.address, asked.address_port, asked.inside)
    if place not in (("", 0, ""), (listed.address, listed.address_port, listed.inside)):
        return False
    return listed.ports is None or (
        asked.ports is not None and set(asked.ports) <= set(listed.ports)
    )
