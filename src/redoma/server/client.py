"""What this user's commands ask of this user's server, on loopback or by its own certificate."""

from __future__ import annotations

import http.client
import json
import ssl
from urllib.parse import urlsplit

from redoma.server.address_file import ServerAddress, running_server
from redoma.sessions.errors import SessionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PATIENCE = 60.0


def call(method: str, path: str, body: dict[str, object] | None = None) -> dict[str, Any]:
    """The answer of this user's server; SessionError where it says no, or none answers."""
    address = running_server()
    connection = _connection(address)
    headers = {"Authorization": f"Bearer {address.bearer}"}
    data = None
    if body is not None:
        data, headers["Content-Type"] = json.dumps(body), "application/json"
    try:
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        found: dict[str, Any] = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SessionError(
            "the server at {url} does not answer: {why}",
            url=address.url,
            why=str(error),
            hint="redoma serve",
        ) from error
    finally:
        connection.close()
    if answer.status >= 400:
        said = found.get("error", {})
        raise SessionError(str(said.get("message", "")), hint=str(said.get("hint", "")))
    return found


def tls_of(address: ServerAddress) -> ssl.SSLContext | None:
    """What trusts this server alone; None where it speaks plain HTTP on loopback."""
    if not address.url.startswith("https:"):
        return None
    context = ssl.create_default_context()
    if address.certificate:
        context.load_verify_locations(cadata=address.certificate)
    return context


def _connection(address: ServerAddress) -> http.client.HTTPConnection:
    where = urlsplit(address.url)
    tls = tls_of(address)
    if tls is None:
        return http.client.HTTPConnection(where.hostname or "", where.port, timeout=_PATIENCE)
    return http.client.HTTPSConnection(
        where.hostname or "", where.port, timeout=_PATIENCE, context=tls
    )
