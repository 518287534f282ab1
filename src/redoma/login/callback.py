"""The loopback address that a browser comes back to: one port, one path, one answer.

Attack: any page, and any program of this machine, can ask this port for something. What does not
carry the state of this login is not an answer to it; what is asked for is never repeated or led
elsewhere; after the one answer nobody listens any more.
"""

from __future__ import annotations

import hmac
import select
import socket
import time
from urllib.parse import parse_qsl, urlsplit

from redoma.login.errors import AnswerMismatch, LoginError, LoginTimedOut, ProviderRefused
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from redoma.login.provider import Provider

PATH = "/callback"
_LARGEST = 16 << 10
_PATIENCE = 5.0
_PAGE = (
    b"<!doctype html><meta charset=utf-8><title>redoma</title><body><p>%s</p>"
    b"<p>You can close this page.</p>"
)
_HEADERS = (
    b"Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
    b"Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
    b"X-Content-Type-Options: nosniff\r\nConnection: close\r\n"
)


class CallbackAnswer(Value):
    """What a provider sent back with a browser: a code, and who it says it is."""

    code: str
    issuer: str = ""


class LoopbackListener:
    """Waits on 127.0.0.1 for the browser that carries a state."""

    def __init__(self, state: str, port: int = 0) -> None:
        self._state = state
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.bind(("127.0.0.1", port))
        except OSError as error:
            self._socket.close()
            raise LoginError(f"port {port} cannot be listened on: {error.strerror}") from error
        self._socket.listen(8)
        self.port = int(self._socket.getsockname()[1])

    @property
    def address(self) -> str:
        """Where the browser is sent."""
        return f"http://127.0.0.1:{self.port}{PATH}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def answer(self, provider: Provider, seconds: float) -> CallbackAnswer:
        """The one answer; whatever else comes is refused, and waited past."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._socket], [], [], left)[0]:
                break
            connection, _ = self._socket.accept()
            with connection:
                given = self._request(connection)
                if given is None:
                    continue
                self._socket.close()  # Attack: a second request finds nobody
                try:
                    found = _answer(given, provider)
                except (AnswerMismatch, ProviderRefused):
                    _say(connection, 400, b"This login was refused.")
                    raise
                _say(connection, 200, b"You are logged in.")
                return found
        raise LoginTimedOut(
            "nobody came back from the provider's page in time",
            hint="redoma login --device, where no browser of this machine can be used",
        )

    def _request(self, connection: socket.socket) -> dict[str, str] | None:
        """The parameters of a request that is meant for us; None for any other."""
        head = _head(connection)
        lines = head.split("\r\n")
        words = lines[0].split(" ")
        hosts = [
            line.partition(":")[2].strip() for line in lines[1:] if line.lower()[:5] == "host:"
        ]
        target = urlsplit(words[1]) if len(words) == 3 and words[1].startswith("/") else None
        if words[0] != "GET" or target is None or target.path != PATH:
            _say(connection, 404, b"There is nothing here.")
            return None
        # Attack: a name of someone else's that leads to 127.0.0.1 (DNS rebinding).
        if hosts != [f"127.0.0.1:{self.port}"]:
            _say(connection, 400, b"There is nothing here.")
            return None
        pairs = parse_qsl(target.query, keep_blank_values=True)
        given = dict(pairs)
        state = given.get("state", "")
        # Attack: a parameter given twice: we would look at one, and use the other.
        if len(given) != len(pairs) or not hmac.compare_digest(
            state.encode(), self._state.encode()
        ):
            _say(connection, 400, b"This is not the answer to a login of yours.")
            return None
        return given


def _answer(given: dict[str, str], provider: Provider) -> CallbackAnswer:
    """The answer in these parameters, from this provider and no other.

    Attack: one provider's answer to a login at another (a mix-up): the code would be shown to the
    wrong one. So whoever says its name has to say the right one, errors too (RFC 9207).
    """
    issuer = given.get("iss", "")
    if (issuer or provider.names_itself) and issuer != provider.issuer:
        raise AnswerMismatch(
            f"the answer comes from {issuer or 'nobody'!r}, and not from {provider.issuer}",
            hint="begin anew: redoma login",
        )
    if "error" in given:
        from redoma.base.text import harmless

        code = harmless(given["error"])[:80]
        raise ProviderRefused(f"the provider refuses: {code}", error=code, hint="redoma login")
    if not given.get("code"):
        raise AnswerMismatch("the provider's answer has no code in it", hint="redoma login")
    return CallbackAnswer(code=given["code"], issuer=issuer)


def _head(connection: socket.socket) -> str:
    """The head of a request, or as much as came in time."""
    connection.settimeout(_PATIENCE)
    data = b""
    try:
        while b"\r\n\r\n" not in data and len(data) < _LARGEST:
            piece = connection.recv(4096)
            if not piece:
                break
            data += piece
    except OSError:
        return ""
    return data.partition(b"\r\n\r\n")[0].decode("latin-1")


def _say(connection: socket.socket, status: int, text: bytes) -> None:
    body = _PAGE % text
    head = b"HTTP/1.1 %d redoma\r\n%bContent-Length: %d\r\n\r\n" % (status, _HEADERS, len(body))
    try:
        connection.sendall(head + body)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # or the reader may lose it, where something of theirs is unread
    except OSError:
        return
