"""Reads rules such as `GET api.example.com:8443/v1/**`, and says whom a command may reach."""

from __future__ import annotations

import re

from redoma.egress.hosts import canonical, is_inside, is_public, network, normal
from redoma.model.errors import UsageError
from redoma.model.network import LAST_PORT, WEB_PORTS, HostRule, Reach
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redoma.model.network import Reach

LOCALHOST = "localhost"
OWN_LOOPBACK = frozenset((LOCALHOST, "127.0.0.1", "::1"))
_MOST_LOCAL = 50
ANYONE = HostRule(text="every host", host="*", ports=None)
ANYONE_PUBLIC = HostRule(text="every public host", host="*", ports=None)
# What an open network reaches beside the public one: private networks, never this machine itself
# and never the place where a cloud hands out credentials.
_NEAR = ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
_FORMS = (
    "HOST, HOST:PORT, HOST:*, *.example.com, ADDRESS:PORT, localhost:PORT, HOST=ADDRESS,"
    " GET HOST/PATH"
)
_METHODS = re.compile(r"([A-Z]{1,20}(?:,[A-Z]{1,20})*)[ \t]+(\S.*)\Z")
_PATH = re.compile(r"[\x21-\x7e]*\Z")
_NOT_IN_A_PATH = frozenset('?#;\\"<>^`{|}')
_PINNED = re.compile(r"(.*)=(\[?[0-9A-Fa-f.:]+\]?(?::[0-9]{1,5})?)\Z")
_MOST_OF_ANY = 3
_FORM = "[METHOD[,METHOD]] HOST[:PORT][/PATH], as in GET api.example.com/repos/**"


def read(
    hosts: Sequence[str],
    *,
    blocked_ports: Iterable[int] = (),
    max_connections: int | None = None,
    publish: Iterable[int] = (),
) -> Reach:
    """What a list of hosts grants; a host that cannot be read, or is too broad, is an error."""
    rules: list[HostRule] = []
    for text in hosts:
        rule = read_host(text)
        if rule is not None and rule not in rules:
            rules.append(rule)
    for port in (*blocked_ports, *publish):
        if not 0 < port <= LAST_PORT:
            raise UsageError(f"{port} is no port", hint=f"a port is a number from 1 to {LAST_PORT}")
    if len([rule for rule in rules if rule.host == LOCALHOST]) > _MOST_LOCAL:
        raise UsageError(f"more than {_MOST_LOCAL} ports of this machine are granted")
    made = Reach(
        hosts=tuple(rules),
        blocked_ports=tuple(blocked_ports),
        publish=tuple(dict.fromkeys(publish)),
    )
    if max_connections is None:
        return made
    from redoma.model.value import replace

    return replace(made, max_connections=max_connections)


def read_host(text: str) -> HostRule | None:
    """One rule; None for a loopback of the command's own, which it has without being granted."""
    parts = split(text)
    rule = _read_host(parts.host, text)
    if not parts.methods and not parts.path:
        return rule
    if rule is None or rule.host == LOCALHOST or canonical(rule.host):
        raise _cannot_read(text, "requests are read to hosts that are named")
    from redoma.model.value import replace

    return replace(rule, methods=parts.methods, path=parts.path)


_SCHEMES = {"https://": "443", "http://": "80"}


def _of_address(given: str) -> str:
    """The host and port that a web address names; anything else as it is.

    Only a bare one, as it is copied from a browser: a path is granted with a method, and read.
    """
    for scheme, port in _SCHEMES.items():
        if given.lower().startswith(scheme):
            host = given[len(scheme) :].removesuffix("/")
            bare = not any(mark in host for mark in "/@?#=")
            ported = host.rpartition(":")[2].isdigit() or (host.endswith("]") and ":" not in host)
            return (host if ported else f"{host}:{port}") if bare else given
    return given


def _read_host(given: str, text: str) -> HostRule | None:
    given = _of_address(given)
    left, equals, right = given.partition("=")
    host, ports = _host_and_ports(left, text)
    if host in OWN_LOOPBACK:
        return _localhost(text, ports, pinned=bool(equals))
    address = canonical(host)
    if address:
        if equals:
            raise _cannot_read(text, "an address is where it is")
        return HostRule(text=text, host=address, ports=WEB_PORTS if ports == () else ports)
    if host.startswith("*"):
        host = _wildcard(host, text)
    else:
        host = normal(host)
        if not host:
            raise _cannot_read(text, "it is not a host name")
    rule = HostRule(text=text, host=host, ports=WEB_PORTS if ports == () else ports)
    return _pinned(rule, right) if equals else rule


def read_cached(hosts: Sequence[str]) -> tuple[str, ...]:
    """Hosts whose answers are kept: names, or `*.` and a name; anything else is an error."""
    made = []
    for text in hosts:
        star = "*." if text.startswith("*.") else ""
        name = normal(text.removeprefix("*."))
        if not name:
            from redoma.model.remedies import Help, Remedy

            raise UsageError(
                f"answers of {text!r} cannot be kept: it is not a host name",
                hint=Remedy(help=Help.CACHED_HOST),
            )
        made.append(star + name)
    return tuple(dict.fromkeys(made))


def _localhost(text: str, ports: tuple[int, ...] | None, *, pinned: bool) -> HostRule | None:
    if pinned:
        raise _cannot_read(text, "localhost is where it is")
    if ports == ():
        return None
    if ports is None:
        raise UsageError(
            f"{text!r} would give every service of this machine",
            hint="name the one port that is needed, as in localhost:5432",
        )
    return HostRule(text=text, host=LOCALHOST, ports=ports)


def _wildcard(host: str, text: str) -> str:
    parent = normal(host.removeprefix("*."))
    if not host.startswith("*.") and host != "*":
        raise _cannot_read(text, "a star stands before a dot, as in *.example.com")
    if host != "*" and not parent:
        raise _cannot_read(text, "it is not a host name")
    if host == "*" or _anybodys(parent):
        raise UsageError(
            f"{text!r} is too broad: anybody may have a name below it",
            hint="name the hosts, or a domain of one owner, as in *.example.com",
        )
    return f"*.{parent}"


def _anybodys(parent: str) -> bool:
    """Whether names below this one are given to anybody, at once or one step further down."""
    from redoma.egress.public_suffixes import has_public_suffix_below, is_public_suffix

    return is_public_suffix(parent) or has_public_suffix_below(parent)


def _pinned(rule: HostRule, where: str) -> HostRule:
    from redoma.model.value import replace

    if network(where):
        return replace(rule, inside=where)
    host, ports = _host_and_ports(where, rule.text)
    address = canonical(host)
    if not address or rule.host.startswith("*") or ports is None or len(ports) > 1:
        raise _cannot_read(rule.text, "after = stands an address, its port, or a network")
    return replace(rule, address=address, address_port=ports[0] if ports else 0)


def _host_and_ports(text: str, whole: str) -> tuple[str, tuple[int, ...] | None]:
    """A host, and its ports: none said, one, or None for all of them."""
    if any(mark in text for mark in "/@?#% \t\n\0") or "://" in text:
        raise _cannot_read(whole, "it is more than a host and a port")
    if text.startswith("["):
        host, closed, port = text.partition("]")
        host, colon, port = host[1:], port[:1], port[1:]
        if not closed or (colon and colon != ":"):
            raise _cannot_read(whole, "a bracket is not closed")
    elif text.count(":") > 1:
        return text, ()  # an address of IPv6 without brackets has no port
    else:
        host, colon, port = text.partition(":")
    if not colon:
        return host.lower(), ()
    if port == "*":
        return host.lower(), None
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= LAST_PORT):
        raise _cannot_read(whole, f"{port!r} is no port")
    return host.lower(), (int(port),)


def _cannot_read(text: str, why: str) -> UsageError:
    return UsageError(f"the host {text!r} cannot be read: {why}", hint=f"forms: {_FORMS}")


def for_name(reach: Reach, name: str) -> list[HostRule]:
    """The rules that grant a name, the exact ones first."""
    exact = [rule for rule in reach.hosts if rule.host == name and name != LOCALHOST]
    below = [r for r in reach.hosts if r.host.startswith("*.") and name.endswith(r.host[1:])]
    return exact + below or ([_anyone(reach)] if reach.every_host else [])


def for_address(reach: Reach, address: str) -> list[HostRule]:
    """The rules that grant an address as such."""
    found = [rule for rule in reach.hosts if rule.host == address]
    near = reach.mock or (reach.anyone and may_be_at(_anyone(reach), address))
    return found or ([_anyone(reach)] if near else [])


def _anyone(reach: Reach) -> HostRule:
    return ANYONE_PUBLIC if reach.public_only else ANYONE


def on_port(rules: list[HostRule], port: int) -> HostRule | None:
    """The first of some rules that grants a port."""
    return next((rule for rule in rules if rule.ports is None or port in rule.ports), None)


def may_be_at(rule: HostRule, address: str) -> bool:
    """Whether a granted name may be at this address."""
    near = rule is ANYONE and any(is_inside(address, each) for each in _NEAR)
    return near or is_public(address) or is_inside(address, rule.inside)


def of_anyone(rule: HostRule) -> bool:
    """Whether a gate that lets every host through lets this one through."""
    if rule.host == LOCALHOST or rule.address or rule.inside:
        return False
    return not canonical(rule.host) or may_be_at(ANYONE, rule.host)


def local_ports(reach: Reach) -> tuple[int, ...]:
    """Ports of this machine's loopback that a command may reach on its own."""
    ports = [p for rule in reach.hosts if rule.host == LOCALHOST for p in rule.ports or ()]
    return tuple(dict.fromkeys(p for p in ports if p not in reach.blocked_ports))


class RuleParts(Value):
    """A rule taken apart: what is about the host, and what is about requests to it."""

    host: str
    methods: tuple[str, ...] = ()
    path: str = ""


def split(text: str) -> RuleParts:
    """The parts of a rule; a path or a method that cannot be read is an error."""
    rest = text.strip()
    methods: tuple[str, ...] = ()
    found = _METHODS.match(rest)
    if found is not None:
        methods, rest = tuple(dict.fromkeys(found[1].split(","))), found[2].strip()
    slash = rest.find("/")
    # After an equals sign stands an address, or a network, which has a slash of its own.
    if slash <= 0 or "=" in rest[:slash] or rest[slash - 1 :].startswith("://"[1:]):
        return RuleParts(host=rest, methods=methods)
    host, path = rest[:slash], rest[slash:]
    if host.endswith(":"):
        return RuleParts(host=rest, methods=methods)  # a scheme: said so by whoever reads hosts
    pinned = _PINNED.match(path)
    if pinned is not None and canonical(_address(pinned[2])):
        path, host = pinned[1], f"{host}={pinned[2]}"
    return RuleParts(host=host, methods=methods, path=_pattern(path, text))


def _address(text: str) -> str:
    if text.startswith("["):
        return text.partition("]")[0][1:]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _pattern(path: str, text: str) -> str:
    parts = path.split("/")
    plain = _PATH.match(path) and _NOT_IN_A_PATH.isdisjoint(path) and "//" not in path
    if not plain or any(part in (".", "..") for part in parts):
        raise UsageError(f"the path of {text!r} cannot be read", hint=f"a rule is {_FORM}")
    if any("**" in part and part != "**" for part in parts):
        raise UsageError(
            f"in {text!r} two stars stand beside something else",
            hint="/** is everything below, and a single star one part of a path",
        )
    if parts.count("**") > _MOST_OF_ANY:
        raise UsageError(f"{text!r} has more than {_MOST_OF_ANY} parts of any length")
    return path


def held(reach: Reach) -> None:
    """An error where requests would have to be read for a rule or a credential, and are not."""
    if reach.inspect:
        return
    from redoma.model.remedies import Help, Remedy

    named = [rule.text for rule in reach.hosts if rule.by_request]
    if named:
        raise UsageError(
            f"{named[0]!r} grants some requests only, and requests are not read here",
            hint=Remedy(help=Help.INSPECT),
        )
    if reach.credentials:
        raise UsageError(
            f"the credential for {reach.credentials[0].host} cannot be added: requests are not"
            " read here",
            hint=Remedy(help=Help.INSPECT),
        )
