"""Hears only this server's own names, and only pages that this server gave out.

Attack: a page of somebody else's in the person's browser speaks to the port, by its address or by a
name that was pointed at it (DNS rebinding). So the Host has to be one of ours, and an Origin, where
a browser says one, has to be this server's.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

MOST_BODY = 64 << 10
_CROSS = {b"cross-site", b"same-site"}


class OnlyOwnNames:
    """Passes on what was meant for this server by a page of its own, or by no page."""

    def __init__(self, app: ASGIApp, *, scheme: str) -> None:
        self._app = app
        self._scheme = scheme
        # Filled when the port is known.
        self.names: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        why = self._wrong(scope)
        if not why:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": why})
        else:
            error = {"code": "wrong-origin", "message": why, "hint": ""}
            body = json.dumps({"error": error}).encode()
            headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    def _wrong(self, scope: Scope) -> str:
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name, []).append(value)
        hosts = [value.decode("latin-1").lower() for value in given.get(b"host", [])]
        if len(hosts) != 1 or hosts[0] not in self.names:
            return "this server does not go by that name"
        origins = [value.decode("latin-1").lower() for value in given.get(b"origin", [])]
        if any(origin != f"{self._scheme}://{hosts[0]}" for origin in origins):
            return "a page of another origin asked"
        if scope["type"] == "websocket" and len(origins) > 1:
            return "a page of another origin asked"
        site = given.get(b"sec-fetch-site", [b""])[0]
        mode = given.get(b"sec-fetch-mode", [b""])[0]
        if site in _CROSS and not (mode == b"navigate" and scope.get("method") == "GET"):
            return "a page of another origin asked"
        return ""
