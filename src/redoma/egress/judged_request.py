"""One request of a connection: judged by its rules, handed on, and noted."""

from __future__ import annotations

import time

from redoma.egress import request_paths
from redoma.egress.exchange import HttpRequest, RequestRefused, UpstreamFailed, chained
from redoma.egress.upstream import end_to_end
from redoma.model.network import (
    BODY_NOT_READ,
    HEAD_TOO_LARGE,
    IN_THE_CLEAR,
    OVERRIDDEN,
    TOO_SLOW,
    UNREADABLE,
)
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.egress.connection import GatedConnection
    from redoma.egress.downstream import RequestHead
    from redoma.egress.exchange import (
        ExchangeStopped,
        Forward,
        HttpResponse,
        Inform,
        RequestBody,
    )
    from redoma.model.network import HostRule

# What a refusal is told as, where it is not 403.
STATUS = {UNREADABLE: 400, HEAD_TOO_LARGE: 431, TOO_SLOW: 408}
_NO_BODY = frozenset(("GET", "HEAD"))


class JudgedRequest:
    """One request on a connection, and what becomes of it."""

    def __init__(
        self, connection: GatedConnection, head: RequestHead, inform: Inform, ask: Forward
    ) -> None:
        self._connection = connection
        self._head = head
        self._inform = inform
        self._ask = ask
        self._began = time.monotonic()
        self._why = ""
        self.about = replace(
            connection.about,
            kind=connection.scheme,
            rule="",
            method=head.method,
            path=request_paths.shown(head.target),
        )

    async def response(self, body: RequestBody | None) -> HttpResponse:
        """What the host, or somebody in its place, says to it; Stopped where it goes no further."""
        connection, head = self._connection, self._head
        gate = connection.gate
        if connection.inspected:
            gate.requested()
        rule = self._judged()
        assert body is not None
        self.about = replace(self.about, rule=rule.text)
        upgrades = [value.lower() for name, value in head.fields if name == b"upgrade"]
        request = HttpRequest(
            method=head.method,
            scheme=connection.scheme,
            host=connection.about.name or connection.about.address,
            port=connection.about.port,
            target=head.target,
            headers=end_to_end(head.fields),
            body=body,
            inform=self._inform,
            upgrade=upgrades == [b"websocket"] and head.method == "GET" and body.empty,
            rule=rule.text,
        )
        row = gate.handlers if connection.inspected else ()
        response = await chained(row, self._ask)(request)
        self.about = replace(self.about, status=response.status, by=response.by)
        if response.asked is not None:
            self.about = replace(
                self.about,
                headers=response.asked.headers,
                body_size=response.asked.size,
                body_digest=response.asked.digest,
            )
        return response

    def _judged(self) -> HostRule:
        """The rule that grants it; Refused where none does."""
        connection, head = self._connection, self._head
        if head.refusal:
            raise RequestRefused(head.refusal)
        if connection.scheme == "http" and connection.gate.has_credential(connection.about.name):
            raise RequestRefused(IN_THE_CLEAR)
        rule, why = request_paths.granting(connection.rules, head.method, head.target)
        if rule is None:
            raise RequestRefused(why)
        if rule.by_request:
            if request_paths.overridden(head.fields):
                raise RequestRefused(OVERRIDDEN)
            # Attack: a host that ignores it would take it for the next request, judged by nobody.
            if head.method in _NO_BODY and (head.length or head.chunked):
                raise RequestRefused(BODY_NOT_READ)
        return rule

    def stopped(self, stopped: ExchangeStopped) -> str:
        """Notes why it goes no further; what its program is told."""
        self._why = stopped.why
        failed = isinstance(stopped, UpstreamFailed)
        self.about = replace(
            self.about,
            allowed=False,
            why=stopped.why,
            listed=self._connection.gate.reach.listed,
            status=502 if failed else STATUS.get(stopped.why, 403),
        )
        asked = f"{self.about.method} {self.about.target}{self.about.path}"
        said = f"{asked if self.about.method else self.about.target}: {stopped.why}"
        return f"{said}; it needs a grant of {self.about.grant}" if self.about.grant else said

    def note(self, sent: int, received: int) -> None:
        """Keeps what became of it, where requests are noted."""
        if not self._connection.inspected:
            return
        self._connection.noted()
        about = replace(
            self.about,
            address=self._connection.upstream.address or self._connection.about.address,
            sent=sent,
            received=received,
            seconds=time.monotonic() - self._began,
        )
        self._connection.gate.note(about)
