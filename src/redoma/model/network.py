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
    # Only requests with one of these methods, and to paths of this pattern; empty is all of them.
    methods: tuple[str, ...] = ()
    path: str = ""

    @property
    def by_request(self) -> bool:
        """Whether it grants some requests only, so that each of them has to be read."""
        return bool(self.methods or self.path)


class Credential(Value):
    """What the gate adds to requests to one host; never the secret itself, but where it is."""

    # As a person wrote it, without the secret.
    text: str
    host: str
    port: int = 443
    header: str = "authorization"
    # "bearer", "basic" for `user:password`, or "plain" for the value as it is.
    form: str = "bearer"
    # The name of a variable of the caller's, of a secret in the vault, or of a login.
    variable: str = ""
    secret: str = ""
    login: str = ""


class MockedAnswer(Value):
    """What a mock says to some requests; an empty method, host or path fits every one."""

    method: str = ""
    # A name, or `*.` and a name.
    host: str = ""
    # A pattern as in a rule for requests: `*` is one part, `**` any number of parts.
    path: str = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Reach(Value):
    """Everything that may be reached through the gate, and how much of it."""

    hosts: tuple[HostRule, ...] = ()
    # Every host, as an open network has them, but for what is blocked and how many at one time.
    anyone: bool = False
    # Of every host, only those of the public network: none of a private one that is near.
    public_only: bool = False
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
    # Whether requests are read one by one, TLS opened for that.
    inspect: bool = False
    credentials: tuple[Credential, ...] = ()
    # Every name is there, every request is answered here, and nothing leaves.
    mock: bool = False
    mocks: tuple[MockedAnswer, ...] = ()
    # Hosts whose answers are kept, `*.` and a name for those below it, and how many seconds pass
    # before one of them is asked for the same again.
    cache: tuple[str, ...] = ()
    cache_seconds: int = 30
    # Headers, in lower case, that make no difference to what these hosts answer.
    cache_ignores: tuple[str, ...] = ()

    @property
    def opens_tls(self) -> bool:
        """Whether the command has to trust certificates that the gate makes."""
        return self.inspect or self.mock or bool(self.cache)

    def caches(self, name: str) -> bool:
        """Whether what this host answers is kept."""
        return any(
            name.endswith(each[1:]) if each.startswith("*.") else name == each
            for each in self.cache
        )

    def reads(self, name: str) -> bool:
        """Whether requests to this host are read one by one."""
        return self.mock or bool(name and (self.inspect or self.caches(name)))

    @property
    def every_host(self) -> bool:
        """Whether no list says which hosts are there."""
        return self.anyone or self.mock


_MARKS = frozenset("*'?#;\\\"<>^`{|}")


class Connection(Value):
    """One thing that a command asked of the network, and what it got."""

    allowed: bool
    # "tcp", "dns", "udp", or "published" for one that came from the machine to the command; "http"
    # and "https" are single requests.
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
    # How often; of more than once, when first and when last, in seconds since 1970.
    times: int = 1
    first: float = 0.0
    last: float = 0.0
    # A policy keeps the list of hosts, so that only a line there would help.
    listed: bool = False
    # Of a request: what was asked for, values of the query left out, and what was answered.
    method: str = ""
    path: str = ""
    status: int = 0
    # Who answered instead of the host: "mock" or "cache".
    by: str = ""
    # Of a request to a mock: its headers, values that may be secrets left out, and its body.
    headers: tuple[tuple[str, str], ...] = ()
    body_size: int = 0
    body_digest: str = ""

    @property
    def target(self) -> str:
        """`example.com:443`, as a person would grant it."""
        host = self.name or self.address
        host = f"[{host}]" if ":" in host else host
        return f"{host}:{self.port}" if self.port else host

    @property
    def grant(self) -> str:
        """The host rule that lets it through, in the policy if `listed`; empty where none helps."""
        if self.allowed or self.why not in GRANTABLE:
            return ""
        host = self.name or self.address
        if self.why == REQUEST_NOT_GRANTED:
            if not self.method:
                return ""  # one row for many requests
            place = host if self.port in WEB_PORTS else self.target
            path = self.path.partition("?")[0]
            # A star in it would grant more than what was asked for.
            if not path.isascii() or not _MARKS.isdisjoint(path):
                return ""
            return f"{self.method} {place}{path}"
        if self.why in (NOT_PUBLIC, OWN_ADDRESS):
            # The one address at which it may be, beside its name.
            where = f"[{self.address}]" if ":" in self.address else self.address
            place = host if self.port in (0, *WEB_PORTS) else self.target
            return f"{place}={where}" if self.name and self.address else ""
        if self.listed:
            return self.target if self.port not in (0, *WEB_PORTS) or not self.name else host
        if self.port in (0, *WEB_PORTS) and self.name:
            return host
        return self.target


NOT_GRANTED = "not granted"
PORT_NOT_GRANTED = "this port is not granted"
PORT_BLOCKED = "this port is blocked"
NOT_PUBLIC = "it resolves to an address that is not public"
OWN_ADDRESS = "it resolves to this machine itself"
METADATA_ADDRESS = "it resolves to where a cloud hands out credentials"
NOT_FOUND = "it has no address"
UNREACHABLE = "nobody answers there"
OTHER_NAME = "another host was named inside the connection"
NO_NAME = "no host is named inside the connection"
HIDDEN_NAME = "the host is named in a part that is encrypted (ECH)"
UNREADABLE = "it is neither TLS nor HTTP, or cannot be read"
TOO_MUCH = "more bytes than are granted"
TOO_MANY_NAMES = "too many names"
NOT_MOCKED = "it could not be mocked: only HTTP can be"
DATAGRAM = "datagrams do not pass, only connections do"
REQUEST_NOT_GRANTED = "this request is not granted"
SMALL_METHOD = "methods are written in capital letters, and rules grant those"
MANY_READINGS = "the path can be read in more than one way, and not every one is granted"
OVERRIDDEN = "a header of it names another method or path than its own"
NOT_HTTP = "what is said inside TLS is no HTTP/1.1"
HTTP_2 = "it speaks HTTP/2 without having asked"
TUNNEL = "a tunnel cannot be looked into"
NOT_TRUSTED = "the program does not trust this run's certificates"
CERTIFICATE = "the host's certificate cannot be trusted"
IN_THE_CLEAR = "this host gets a credential, and so it is reached over TLS only"
PACKED = "the host packs its answer in a way that cannot be searched for the credential"
BROKEN = "the host's answer cannot be read"
HEAD_TOO_LARGE = "the head of the request is larger than 64 KiB"
BODY_NOT_READ = "a GET or HEAD that is granted by its path has no body"
TOO_SLOW = "nothing was said for too long"
ONE_OF_MANY = "there were too many to name each: they are counted together"
GRANTABLE = frozenset((NOT_GRANTED, PORT_NOT_GRANTED, REQUEST_NOT_GRANTED, NOT_PUBLIC, OWN_ADDRESS))
