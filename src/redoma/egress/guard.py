"""Listens to how a connection begins, and lets it go on only where it names whom it may reach.

Attack: a first request to the granted host, and a second one on the same connection to another
host behind the same address. So the guard reads every request, and refuses one that two readers
might read differently.
"""

from __future__ import annotations

import re
from enum import Enum

from redoma.egress import tls_hello
from redoma.egress.hosts import normal
from redoma.model.network import HIDDEN_NAME, NO_NAME, OTHER_NAME, UNREADABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
LARGEST_HEAD = 1 << 16
LARGEST_LINE = 1 << 14
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e\x80-\xff]+) HTTP/1\.[01]\Z")
_STARTS = re.compile(rb"[A-Z]{1,20}(?: [^\r\n]{0,16384})?\Z")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?\Z")
_ABSOLUTE = re.compile(r"https?://([^/?#@]+)(?:[/?#]|\Z)", re.I)
_PREFACE = b"PRI * HTTP/2.0\r\n"


class _GuardedProtocol(Enum):
    UNKNOWN = "unknown"
    HTTP = "http"
    OTHER = "other"


class ConnectionGuard:
    """What passes from a command to the host `name`.

    Where a name was granted for the web, its connections are TLS or HTTP that say that name. On
    any other port that was granted by number, whatever else is spoken there passes as well.
    """

    def __init__(
        self, name: str, port: int, *, web_only: bool, may_tunnel: Callable[[str, int], bool]
    ) -> None:
        self.name = name
        self.port = port
        self.refusal = ""
        # What a client that is refused is told in its own language, before it is cut off.
        self.farewell = b""
        self._web_only = web_only
        self._may_tunnel = may_tunnel
        self._speaks = _GuardedProtocol.UNKNOWN
        self._held = b""
        self._requests = RequestFollower(name, port)

    @property
    def opaque(self) -> bool:
        """Whether everything from here on passes unread."""
        return self._speaks is _GuardedProtocol.OTHER

    @property
    def listens_to_server(self) -> bool:
        """Whether what the server says next decides what may pass."""
        return self._requests.waiting

    def client(self, data: bytes) -> bytes:
        """The part of what the client sent so far that may pass now."""
        if self.opaque or self.refusal:
            return b"" if self.refusal else data
        if self._speaks is _GuardedProtocol.HTTP:
            return self._http(self._requests.client(data))
        self._held += data
        held = self._held
        if held[:1] == b"\x16":
            return self._tls(held)
        like_http = looks_like(held)
        if like_http:
            self._speaks, self._held = _GuardedProtocol.HTTP, b""
            return self._http(self._requests.client(held))
        if like_http is False or len(held) > LARGEST_LINE:
            if self._web_only:
                self.refusal = UNREADABLE
                return b""
            return self._pass_all()
        return b""

    def server(self, data: bytes) -> bytes:
        """Hears what the server says; what was held back of the client's and may pass now."""
        passed = self._requests.server(data)
        tunnel = self._requests.tunnel
        if self._requests.opaque:
            if tunnel is None:
                self._speaks = _GuardedProtocol.OTHER
                return passed
            # Inside a tunnel the same is asked again, of the host at its other end.
            self.name, self.port = normal(tunnel[0]), tunnel[1]
            self._requests = RequestFollower(self.name, self.port)
            self._speaks, self._held = _GuardedProtocol.UNKNOWN, b""
            return self.client(passed) if passed else b""
        return self._http(passed)

    def _http(self, passed: bytes) -> bytes:
        requests = self._requests
        if requests.tunnel is not None and not self._may_tunnel(*requests.tunnel):
            requests.refusal = OTHER_NAME
        if requests.refusal:
            self.refusal = requests.refusal
            if requests.count <= 1:
                self.farewell = refusal_page(f"{self.name}: {self.refusal}")
            return b""
        if requests.opaque and requests.tunnel is None:
            self._speaks = _GuardedProtocol.OTHER
        return passed

    def _tls(self, held: bytes) -> bytes:
        hello = tls_hello.read(held)
        if not hello.complete:
            return b""
        if hello.unreadable:
            if not self._web_only and held[1:2] != b"\x03":
                return self._pass_all()
            self.refusal = UNREADABLE
        elif hello.hidden_name:
            self.refusal = HIDDEN_NAME
        elif not hello.name:
            self.refusal = NO_NAME
        elif normal(hello.name) != self.name:
            self.refusal = OTHER_NAME
        else:
            return self._pass_all()
        self.farewell = tls_hello.UNRECOGNISED_NAME
        return b""

    def _pass_all(self) -> bytes:
        self._speaks = _GuardedProtocol.OTHER
        held, self._held = self._held, b""
        return held


class _State(Enum):
    HEAD = "head"
    BODY = "body"
    CHUNK_SIZE = "chunk size"
    CHUNK = "chunk"
    CHUNK_END = "chunk end"
    TRAILER = "trailer"
    WAITING = "waiting"  # for what the server says to an upgrade or a tunnel
    OPAQUE = "opaque"


def looks_like(data: bytes) -> bool | None:
    """Whether this is how HTTP/1 begins; None where that cannot be said yet."""
    line, ended, _ = data.lstrip(b"\r\n").partition(b"\n")
    if ended:
        return b" HTTP/1." in line[-12:]
    if len(line) > LARGEST_LINE or not line.isascii():
        return False
    return None if not line or _STARTS.match(line.rstrip(b"\r")) else False


class RequestFollower:
    """What a client may send on one connection to `name` at `port`."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.port = port
        self.refusal = ""
        # The first answer has to begin like this for the rest to be something else than HTTP.
        self.awaited = b""
        # Where a tunnel through the server would lead.
        self.tunnel: tuple[str, int] | None = None
        self.count = 0
        self._state = _State.HEAD
        self._left = 0
        self._held = bytearray()

    @property
    def opaque(self) -> bool:
        """Whether what follows is no HTTP any more."""
        return self._state is _State.OPAQUE

    @property
    def waiting(self) -> bool:
        """Whether nothing passes until the server has answered."""
        return self._state is _State.WAITING

    def client(self, data: bytes) -> bytes:
        """The part of what a client sent so far that may pass now."""
        if self.opaque:
            return data
        self._held += data
        passed = bytearray()
        while not self.refusal:
            step = self._step()
            if not step:
                break
            passed += step
        if len(self._held) > LARGEST_HEAD + LARGEST_LINE and not self.waiting:
            self.refusal = self.refusal or UNREADABLE
        return bytes(passed)

    def server(self, data: bytes) -> bytes:
        """Hears the server's first answer; what was held back meanwhile and may pass now."""
        if not self.waiting:
            return b""
        line = data[:16]
        if line.startswith((b"HTTP/1.0 ", b"HTTP/1.1 ")) and line[9:12] == self.awaited:
            self._state = _State.OPAQUE
            held, self._held = bytes(self._held), bytearray()
            return held
        self._state = _State.HEAD
        self.tunnel = None
        return self.client(b"")

    def _step(self) -> bytes:
        state = self._state
        if state in (_State.WAITING, _State.OPAQUE) or not self._held:
            return b""
        if state is _State.HEAD:
            return self._head()
        if state in (_State.BODY, _State.CHUNK):
            return self._counted()
        return self._line(state)

    def _counted(self) -> bytes:
        taken = self._take(min(self._left, len(self._held)))
        self._left -= len(taken)
        if not self._left:
            self._state = _State.HEAD if self._state is _State.BODY else _State.CHUNK_END
        return taken

    def _line(self, state: _State) -> bytes:
        end = self._held.find(b"\n")
        if end < 0:
            if len(self._held) > LARGEST_LINE:
                self.refusal = UNREADABLE
            return b""
        line = bytes(self._held[: end + 1])
        text = line.removesuffix(b"\r\n")
        if not line.endswith(b"\r\n") or b"\r" in text:
            self.refusal = UNREADABLE
        elif state is _State.CHUNK_END and not text:
            self._state = _State.CHUNK_SIZE
        elif state is _State.CHUNK_SIZE and _SIZE.match(text):
            self._left = int(text.partition(b";")[0].strip(), 16)
            self._state = _State.CHUNK if self._left else _State.TRAILER
        elif state is _State.TRAILER and not text:
            self._state = _State.HEAD
        elif state is not _State.TRAILER or _field(text) is None:
            self.refusal = UNREADABLE
        return b"" if self.refusal else self._take(end + 1)

    def _head(self) -> bytes:
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            if len(self._held) > LARGEST_HEAD or self._held.startswith(_PREFACE):
                self.refusal = UNREADABLE
            return b""
        lines = bytes(self._held[:end]).split(b"\r\n")
        if any(b"\n" in line or b"\r" in line or b"\0" in line for line in lines):
            self.refusal = UNREADABLE
        else:
            self._request(lines)
        if self.refusal:
            return b""
        self.count += 1
        return self._take(end + 4)

    def _request(self, lines: list[bytes]) -> None:
        asked = _REQUEST.match(lines[0])
        fields = [_field(line) for line in lines[1:]]
        if asked is None or any(field is None for field in fields):
            self.refusal = UNREADABLE
            return
        known = [field for field in fields if field is not None]
        method, target = asked[1], asked[2].decode("latin-1")
        hosts = [value for name, value in known if name == b"host"]
        if len(hosts) != 1:
            self.refusal = NO_NAME if not hosts else UNREADABLE
        elif method == b"CONNECT":
            self._tunnel(target)
        elif not self._is_right(hosts[0].decode("latin-1")) or not self._leads_here(target):
            self.refusal = OTHER_NAME
        else:
            self._framing(known)
            self._upgrade(known)

    def _tunnel(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        # Only first on a connection: then the server's first words are the answer to it.
        if self.count or not (port.isascii() and port.isdigit() and len(port) < 6):
            self.refusal = UNREADABLE
            return
        self.tunnel = (host.strip("[]").lower(), int(port))
        self.awaited, self._state = b"200", _State.WAITING

    def _framing(self, fields: list[tuple[bytes, bytes]]) -> None:
        """How long the body is; a request of two lengths is refused (request smuggling)."""
        lengths = [value for name, value in fields if name == b"content-length"]
        codings = [value.lower() for name, value in fields if name == b"transfer-encoding"]
        if codings and (lengths or codings != [b"chunked"]):
            self.refusal = UNREADABLE
        elif codings:
            self._state = _State.CHUNK_SIZE
        elif lengths:
            if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > 18:
                self.refusal = UNREADABLE
                return
            self._left = int(lengths[0])
            self._state = _State.BODY if self._left else _State.HEAD

    def _upgrade(self, fields: list[tuple[bytes, bytes]]) -> None:
        wanted = [value.lower() for name, value in fields if name == b"upgrade"]
        if wanted == [b"websocket"] and not self.count and self._state is _State.HEAD:
            self.awaited, self._state = b"101", _State.WAITING

    def _is_right(self, host: str) -> bool:
        name, colon, port = host.partition(":")
        if colon and port != str(self.port):
            return False
        return normal(name) == self.name

    def _leads_here(self, target: str) -> bool:
        if target.startswith("/") or target == "*":
            return True
        absolute = _ABSOLUTE.match(target)
        return absolute is not None and self._is_right(absolute[1])

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken


def _field(line: bytes) -> tuple[bytes, bytes] | None:
    """Name and value of one line of a head; None where readers might differ."""
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.match(name):
        return None
    return name.lower(), value.strip(b" \t")


def refusal_page(why: str) -> bytes:
    """What a client that speaks HTTP is told instead of being cut off."""
    body = f"redoma: {why}\n".encode()
    head = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
    head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
