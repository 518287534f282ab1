"""The server over HTTP on loopback: one secret for each start, and only this machine's own names.

Attack: a page in the person's browser, or another user of this machine, speaks to the port. A name
that was pointed at loopback is refused by its Host and Origin, and nobody is heard without the
token, which is compared in constant time.
"""

from __future__ import annotations

import hmac
import secrets
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOST = "127.0.0.1"
PATH = "/mcp"


def serve(server: Any, port: int) -> int:
    """Serves until it is ended; says on standard error where, and with which token."""
    import socket

    import uvicorn

    from redoma.i18n import phrased
    from redoma.model.message import Message

    token = secrets.token_urlsafe(32)
    listener = socket.create_server((HOST, port), backlog=128)
    where = f"http://{HOST}:{listener.getsockname()[1]}{PATH}"
    app = WithToken(server.streamable_http_app(streamable_http_path=PATH, host=HOST), token)
    sys.stderr.write(phrased(Message("redoma: MCP over HTTP at {address}\n", address=where)))
    header = f"Authorization: Bearer {token}"
    sys.stderr.write(
        phrased(Message("redoma: clients send this header: {header}\n", header=header))
    )
    sys.stderr.flush()
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run([listener])
    return 0


class WithToken:
    """Passes on only what carries the token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(given) != 1 or not hmac.compare_digest(given[0], self._wanted):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)
