"""Listens to how a connection begins, and lets it go on only where it names whom it may reach."""

from __future__ import annotations

from enum import Enum

from redoma.egress import http, tls
from redoma.egress.names import normal
from redoma.model.network import HIDDEN_NAME, NO_NAME, OTHER_NAME, UNREADABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class _Speaks(Enum):
    UNKNOWN = "unknown"
    HTTP = "http"
    OTHER = "other"


class Guard:
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
        self._speaks = _Speaks.UNKNOWN
        self._held = b""
        self._requests = http.Requests(name, port)

    @property
    def opaque(self) -> bool:
        """Whether everything from here on passes unread."""
        return self._speaks is _Speaks.OTHER

    @property
    def listens_to_server(self) -> bool:
        """Whether what the server says next decides what may pass."""
        return self._requests.waiting

    def client(self, data: bytes) -> bytes:
        """The part of what the client sent so far that may pass now."""
        if self.opaque or self.refusal:
            return b"" if self.refusal else data
        if self._speaks is _Speaks.HTTP:
            return self._http(self._requests.client(data))
        self._held += data
        held = self._held
        if held[:1] == b"\x16":
            return self._tls(held)
        like_http = http.looks_like(held)
        if like_http:
            self._speaks, self._held = _Speaks.HTTP, b""
            return self._http(self._requests.client(held))
        if like_http is False or len(held) > http.LARGEST_LINE:
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
                self._speaks = _Speaks.OTHER
                return passed
            # Inside a tunnel the same is asked again, of the host at its other end.
            self.name, self.port = normal(tunnel[0]), tunnel[1]
            self._requests = http.Requests(self.name, self.port)
            self._speaks, self._held = _Speaks.UNKNOWN, b""
            return self.client(passed) if passed else b""
        return self._http(passed)

    def _http(self, passed: bytes) -> bytes:
        requests = self._requests
        if requests.tunnel is not None and not self._may_tunnel(*requests.tunnel):
            requests.refusal = OTHER_NAME
        if requests.refusal:
            self.refusal = requests.refusal
            if requests.count <= 1:
                self.farewell = http.refusal_page(f"{self.name}: {self.refusal}")
            return b""
        if requests.opaque and requests.tunnel is None:
            self._speaks = _Speaks.OTHER
        return passed

    def _tls(self, held: bytes) -> bytes:
        hello = tls.read(held)
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
        self.farewell = tls.UNRECOGNISED_NAME
        return b""

    def _pass_all(self) -> bytes:
        self._speaks = _Speaks.OTHER
        held, self._held = self._held, b""
        return held
