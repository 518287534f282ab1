"""What a command may reach by network, and what became of each connection it tried."""

from __future__ import annotations

from redoma.model.value import Value

# What a host without a port means: the web's own two.
WEB_PORTS = (80, 443)
LAST_PORT = 65535


class HostRule(Value):
    """One host that may be reached: its name, names below it, or an address; and on which ports."""

    # As a person wrote it, to be named in events and in errors.
    text: str
    # A name, `*.` and a name, an address, or `localhost` for the machine that Redoma runs on.
    host: str
    # None is every port.
    ports: tuple[int, ...] | None = WEB_PORTS
    # Where the name is, instead of asking; empty asks the machine's own resolver.
    address: str = ""
    # The port there, where it is another one.
    address_port: int = 0
    # A network that the name may resolve into although it is not a public one.
    inside: str = ""


class Reach(Value):
    """Everything that may be reached through the gate, and how much of it."""

    hosts: tuple[HostRule, ...] = ()
    # Every host, as an open network has them, but for what is blocked and how many at one time.
    anyone: bool = False
    # The list is a policy's: a flag alone adds nothing to it.
    listed: bool = False
    # Never, whatever else is granted.
    blocked_ports: tuple[int, ...] = ()
    # At one time; in a whole run; and names asked for and connections tried in vain.
    max_connections: int = 100
    max_requests: int | None = None
    max_refusals: int = 10_000
    # Bytes of a whole run, both ways.
    max_bytes: int | None = None
    # Ports of the command's own loopback that are reachable on the machine's.
    publish: tuple[int, ...] = ()


class Connection(Value):
    """One thing that a command asked of the network, and what it got."""

    allowed: bool
    # "tcp", "dns", "udp", or "published" for one that came from the machine to the command.
    kind: str = "tcp"
    name: str = ""
    address: str = ""
    port: int = 0
    # The rule that let it pass, or why it did not.
    rule: str = ""
    why: str = ""
    program: str = ""
    sent: int = 0
    received: int = 0
    seconds: float = 0.0
    # How often the same was refused.
    times: int = 1
    # A policy keeps the list of hosts, so that only a line there would help.
    listed: bool = False

    @property
    def target(self) -> str:
        """`example.com:443`, as a person would grant it."""
        host = self.name or self.address
        host = f"[{host}]" if ":" in host else host
        return f"{host}:{self.port}" if self.port else host

    @property
    def grant(self) -> str:
        """The flag, or the policy's line, that lets it through; nothing where none would help."""
        if self.allowed or self.why not in GRANTABLE:
            return ""
        host = self.name or self.address
        if self.listed:
            host = self.target if self.port not in (0, *WEB_PORTS) or not self.name else host
            return f"network.allowed_hosts: [{host}]"
        if self.port in (0, *WEB_PORTS) and self.name:
            return f"--allow-host {host}"
        return f"--allow-host {self.target}"


NOT_GRANTED = "not granted"
PORT_NOT_GRANTED = "this port is not granted"
PORT_BLOCKED = "this port is blocked"
NOT_PUBLIC = "it resolves to an address that is not public"
NOT_FOUND = "it has no address"
UNREACHABLE = "nobody answers there"
OTHER_NAME = "another host was named inside the connection"
NO_NAME = "no host is named inside the connection"
HIDDEN_NAME = "the host is named in a part that is encrypted (ECH)"
UNREADABLE = "it is neither TLS nor HTTP, or cannot be read"
TOO_MANY = "too many connections at one time"
TOO_MUCH = "more bytes than are granted"
TOO_MANY_NAMES = "too many names"
DATAGRAM = "datagrams do not pass, only connections do"
GRANTABLE = frozenset((NOT_GRANTED, PORT_NOT_GRANTED))
