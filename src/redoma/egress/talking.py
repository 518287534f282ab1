"""One connection of a command that is read: each request judged, answered and noted by itself."""

from __future__ import annotations

import asyncio
import ssl
import time

import h11

from redoma.egress import framing, paths
from redoma.egress.answering import Client
from redoma.egress.beginning import Speaks, begins
from redoma.egress.requests import Failed, Refused, Request, Stopped, chained
from redoma.egress.streams import Secure, Stream, relay
from redoma.egress.upstream import Upstream, end_to_end
from redoma.model.network import (
    HTTP_2,
    IN_THE_CLEAR,
    NOT_HTTP,
    NOT_MOCKED,
    NOT_TRUSTED,
    OVERRIDDEN,
    UNREADABLE,
    Connection,
)
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

    from redoma.egress.beginning import Beginning
    from redoma.egress.inspecting import Inspector
    from redoma.egress.requests import Body
    from redoma.model.network import HostRule

_HANDSHAKE_SECONDS = 20.0
_SPEAKS_WITHIN = 2.0
_NO_HTTP = frozenset((UNREADABLE, NOT_HTTP, HTTP_2))


class Talk:
    """A client's connection to one host, and the requests on it."""

    def __init__(
        self,
        inspector: Inspector,
        client: socket,
        about: Connection,
        rules: list[HostRule],
        places: list[tuple[str, int]],
        *,
        web_only: bool,
    ) -> None:
        self._inspector = inspector
        self._about = about
        self._rules = rules
        # What is granted by request has to be requests.
        by_request = any(rule.by_request for rule in rules)
        self._web_only = web_only or by_request or inspector.mocks
        self._stream = Stream(client, inspector.count)
        self._scheme = "http"
        self._upstream = Upstream(about.name, places, None)
        self._began = time.monotonic()
        self._noted = False
        # What was moved when something was last noted: sent by the client, and to it.
        self._moved = (0, 0)

    async def serve(self) -> None:
        """Everything until the connection is over; how it went is noted."""
        why = ""
        try:
            await self._serve()
        except ssl.SSLError as error:
            why = NOT_TRUSTED if _is_distrust(error) else ""
        except Stopped as stopped:
            why = stopped.why
        except (OSError, h11.ProtocolError):
            pass  # one of both went away
        finally:
            await self._upstream.close()
            self._stream.close()
        if why or not self._noted:
            self._note(self._about, self._began, why=why)

    async def _serve(self) -> None:
        found = await self._begins()
        if found.speaks is Speaks.TLS:
            if found.host is not None:
                found.host.close()  # it is dialled anew, and has to say who it is
            await self._open_tls()
            found = await self._begins(in_tls=True)
        if found.speaks is Speaks.OTHER:
            assert found.host is not None
            await self._pass_on(found.host)
        elif found.speaks is Speaks.HTTP:
            if found.host is not None:
                self._upstream.adopt(found.host)
            client = Client(self._stream)
            while await self._request(client):
                continue
        elif found.host is not None:
            found.host.close()

    async def _begins(self, *, in_tls: bool = False) -> Beginning:
        found = begins(self._stream, self._upstream, web_only=self._web_only, in_tls=in_tls)
        if not self._inspector.mocks:
            return await found
        try:
            # A client that waits for its host to speak first would wait for ever.
            return await asyncio.wait_for(found, _SPEAKS_WITHIN)
        except TimeoutError:
            raise Refused(NOT_MOCKED) from None
        except Refused as refused:
            raise Refused(NOT_MOCKED if refused.why in _NO_HTTP else refused.why) from refused

    async def _pass_on(self, host: Stream) -> None:
        """Another protocol, on a port that was granted by its number."""
        try:
            await relay(self._stream, host)
        finally:
            host.close()
            about = replace(self._about, address=self._upstream.address)
            self._note(about, self._began)

    async def _open_tls(self) -> None:
        """Speaks TLS in the host's name with the client, and in the client's with the host."""
        name = self._about.name
        secure = Secure(self._stream, self._inspector.authority.context(name))
        self._stream, self._scheme = secure, "https"
        await asyncio.wait_for(secure.handshake(), _HANDSHAKE_SECONDS)
        places = self._upstream.places
        self._upstream = Upstream(name, places, self._inspector.trust())

    async def _request(self, client: Client) -> bool:
        """Reads, judges and answers the next request; whether there may be another."""
        raw = await client.next_head()
        if raw is None:
            return False
        began = time.monotonic()
        head = framing.read(raw, self._about.name, self._about.port, self._scheme)
        about = replace(
            self._about,
            kind=self._scheme,
            rule="",
            method=head.method,
            path=paths.shown(head.target),
        )
        self._inspector.ledger.request()
        status, why = 0, ""
        try:
            about = replace(about, rule=self._judged(head).text)
            request = self._made(head, client, client.begin(raw, head))
            forward = chained(self._inspector.handlers, self._upstream.ask)
            response = await forward(request)
            status = response.status
            about = replace(about, by=response.by)
            if response.asked is not None:
                about = replace(
                    about,
                    headers=response.asked.headers,
                    body_size=response.asked.size,
                    body_digest=response.asked.digest,
                )
            if response.upgraded is None:
                return await client.answer(response, head.method)
            host, rest = response.upgraded
            host.put_back(rest)
            await client.switch(response)
            try:
                await relay(self._stream, host)
            finally:
                host.close()
            return False
        except Stopped as stopped:
            why = stopped.why
            about = replace(about, allowed=False, why=why, listed=self._inspector.listed)
            told = 502 if isinstance(stopped, Failed) else 403
            status = await client.refuse(told, _explained(about)) or status
            return False
        finally:
            address = self._upstream.address or self._about.address
            about = replace(about, status=status, address=address)
            self._note(about, began, why=why)

    def _judged(self, head: framing.Head) -> HostRule:
        """The rule that grants a request; Refused where none does."""
        if head.refusal:
            raise Refused(head.refusal)
        if self._scheme == "http" and self._inspector.has_credential(self._about.name):
            raise Refused(IN_THE_CLEAR)
        rule, why = paths.granting(self._rules, head.method, head.target)
        if rule is None:
            raise Refused(why)
        if rule.by_request and paths.overridden(head.fields):
            raise Refused(OVERRIDDEN)
        return rule

    def _made(self, head: framing.Head, client: Client, body: Body) -> Request:
        upgrades = [value.lower() for name, value in head.fields if name == b"upgrade"]
        return Request(
            method=head.method,
            scheme=self._scheme,
            host=self._about.name or self._about.address,
            port=self._about.port,
            target=head.target,
            headers=end_to_end(head.fields),
            body=body,
            inform=client.inform,
            upgrade=upgrades == [b"websocket"] and head.method == "GET" and body.empty,
        )

    def _note(self, about: Connection, began: float, *, why: str = "") -> None:
        moved, self._moved = self._moved, (self._stream.taken, self._stream.given)
        self._noted = True
        if why:
            about = replace(about, allowed=False, why=why)
        self._inspector.note(
            replace(
                about,
                sent=self._stream.taken - moved[0],
                received=self._stream.given - moved[1],
                seconds=time.monotonic() - began,
            )
        )


def _explained(about: Connection) -> str:
    """What a program is told instead of an answer."""
    asked = f"{about.method} {about.target}{about.path}" if about.method else about.target
    said = f"{asked}: {about.why}"
    return f"{said}; grant it with {about.grant}" if about.grant else said


def _is_distrust(error: ssl.SSLError) -> bool:
    """Whether a client has said that it does not know who signed our certificate."""
    reason = (error.reason or "").upper()
    return "ALERT" in reason and any(word in reason for word in ("UNKNOWN_CA", "CERTIFICATE"))
