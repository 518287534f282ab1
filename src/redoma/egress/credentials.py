"""Adds a secret to requests to one host, so that the command that sends them never has it.

Attack: the command asks the host to say the secret back. What comes back is searched for it, and
has stars in its place. A host that packs what it says, although it was asked not to, is unpacked
first; what cannot be unpacked here is not passed on.
"""

from __future__ import annotations

import re
import zlib
from contextlib import aclosing

from redoma.base.secret_search import hidden_forms
from redoma.egress.exchange import UpstreamFailed
from redoma.egress.hosts import normal
from redoma.model.errors import UsageError
from redoma.model.network import BROKEN, LAST_PORT, PACKED, Credential
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from redoma.egress.exchange import Forward, Headers, HttpRequest, HttpResponse
    from redoma.model.grant import Secret

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}\Z")
_FORMS = ("bearer", "basic")
_KEPT = ("vault", "login")
# What the gate itself decides by, or what frames a request.
_NOT_A_CREDENTIAL = frozenset(
    "host connection content-length transfer-encoding upgrade expect te trailer".split()
)
_FORM = "HOST[:PORT]=[bearer:|basic:|HEADER:]VARIABLE"
# Shorter ones would be found everywhere, and guessed in a moment.
_SHORTEST = 4
_WITHOUT_BODY = (204, 304)
_PLAIN = (b"", b"identity")
_PACKINGS = (b"accept-encoding", b"grpc-accept-encoding")
_PACKED = (b"gzip", b"x-gzip", b"deflate")
# Reads the head of either form of them by itself.
_EITHER = zlib.MAX_WBITS | 32
# At one time: a few bytes may stand for gigabytes.
_PIECE = 1 << 16
_ABOUT_THE_PACKED = (b"content-encoding", b"content-length", b"content-md5", b"digest")


def read(text: str) -> Credential:
    """`api.example.com=TOKEN`, `git.example.com=basic:vault:git`, `a.example=X-Api-Key:KEY`."""
    place, equals, given = text.strip().partition("=")
    host, colon, port = place.partition(":")
    name = normal(host)
    if not equals or not name or host.startswith("*"):
        raise _cannot_read(text, "it begins with one host, by its name")
    if colon and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= LAST_PORT):
        raise _cannot_read(text, f"{port!r} is no port")
    words = given.split(":")
    kept = words[-2] if len(words) > 1 and words[-2] in _KEPT else ""
    named = words.pop() if kept else ""
    source = words.pop()
    how = words.pop() if words else "bearer"
    if words or not _NAME.match(named if kept else source) or not _HEADER.match(how):
        raise _cannot_read(text, "after = stands where the secret is")
    header = "authorization" if how in _FORMS else how.lower()
    if header in _NOT_A_CREDENTIAL:
        raise _cannot_read(text, f"{how} is no header for a secret")
    return Credential(
        text=text.strip(),
        host=name,
        port=int(port) if colon else 443,
        header=header,
        form=how if how in _FORMS else "plain",
        variable="" if kept else source,
        secret=named if kept == "vault" else "",
        login=named if kept == "login" else "",
    )


def read_all(texts: Sequence[str], granted: Sequence[str]) -> tuple[Credential, ...]:
    """All of them; two for one header of a host, or one for a host not granted, is an error."""
    found = tuple(read(text) for text in texts)
    seen: set[tuple[str, int, str]] = set()
    for each in found:
        key = (each.host, each.port, each.header)
        if key in seen:
            raise UsageError(f"two credentials for the same header of {each.host}")
        seen.add(key)
        if each.host not in granted and not any(
            host.startswith("*.") and each.host.endswith(host[1:]) for host in granted
        ):
            from redoma.model.remedies import Help, Remedy

            raise UsageError(
                f"a credential for {each.host}, which is not granted",
                hint=Remedy(help=Help.HOST, about=each.host),
            )
    return found


def _cannot_read(text: str, why: str) -> UsageError:
    hint = f"form: {_FORM}, or vault:NAME or login:NAME in the place of VARIABLE"
    return UsageError(f"the credential {text!r} cannot be read: {why}", hint=hint)


def header_value(credential: Credential, secret: Secret) -> bytes:
    """What is sent; an error where the secret cannot stand in a header."""
    text = secret.reveal().strip()
    if not text or not text.isascii() or not text.isprintable():
        raise UsageError(
            f"the secret for {credential.host} cannot be sent in a header",
            hint="a secret is one line of printable ASCII",
        )
    user, _, password = text.partition(":")
    if len((password or user) if credential.form == "basic" else text) < _SHORTEST:
        raise UsageError(
            f"the secret for {credential.host} has fewer than {_SHORTEST} characters: it could not"
            " be told from other text, and so not be kept from the command",
            hint="a secret has four characters or more",
        )
    if credential.form == "bearer":
        return b"Bearer " + text.encode()
    if credential.form == "basic":
        from base64 import b64encode

        return b"Basic " + b64encode(text.encode())
    return text.encode()


class CredentialHandler:
    """A handler that adds secrets on the way out, and takes them out of what comes back."""

    def __init__(self, known: tuple[tuple[Credential, Secret], ...]) -> None:
        self._values: dict[tuple[str, int], list[tuple[bytes, bytes]]] = {}
        self._hidden: dict[tuple[str, int], tuple[bytes, ...]] = {}
        for credential, secret in known:
            key = (credential.host, credential.port)
            value = header_value(credential, secret)
            self._values.setdefault(key, []).append((credential.header.encode(), value))
            text = secret.reveal().strip()
            # Of user:password the password is the secret part, alone as well; without one the user.
            user, _, password = text.partition(":")
            parts = [text, password or user] if credential.form == "basic" else [text]
            parts.append(value.rpartition(b" ")[2].decode())
            needles = {form for part in parts if part for form in hidden_forms(part)}
            kept = {*self._hidden.get(key, ()), *needles}
            self._hidden[key] = tuple(sorted(kept, key=len, reverse=True))

    async def handle(self, request: HttpRequest, forward: Forward) -> HttpResponse:
        """Adds what belongs to this host, over TLS only; everything else passes as it is."""
        key = (request.host, request.port)
        added = self._values.get(key)
        if added is None or request.scheme != "https":
            return await forward(request)
        # A body that is compressed has to be unpacked to be searched.
        replaced = {*_PACKINGS, *(name for name, _ in added)}
        headers = [each for each in request.headers if each[0] not in replaced]
        headers += [*added, (b"accept-encoding", b"identity")]
        hidden = self._hidden[key]

        async def inform(status: int, said: Headers) -> None:
            # Attack: a host that says it back before its answer, in early hints.
            await request.inform(status, _without_in(said, hidden))

        asked = replace(request, headers=tuple(headers), inform=inform)
        response = _without(await forward(asked), hidden)
        bodiless = request.method == "HEAD" or response.status in _WITHOUT_BODY
        if bodiless or response.upgraded is not None:
            return response
        return _searched_in(decoded(response), hidden)


def _without_in(headers: Headers, hidden: tuple[bytes, ...]) -> Headers:
    # Names come in lower case, whatever the case of what they say.
    small = tuple(secret.lower() for secret in hidden)
    return tuple((starred(name, small), starred(value, hidden)) for name, value in headers)


def _without(response: HttpResponse, hidden: tuple[bytes, ...]) -> HttpResponse:
    headers = _without_in(response.headers, hidden)
    return replace(response, headers=headers, reason=starred(response.reason, hidden))


def _searched_in(response: HttpResponse, hidden: tuple[bytes, ...]) -> HttpResponse:
    body = response.body
    if isinstance(body, bytes):
        return replace(response, body=starred(body, hidden))
    return replace(response, body=_searched(body, hidden, response.trailers))


def starred(data: bytes, hidden: tuple[bytes, ...]) -> bytes:
    """The same with stars for each secret, so that lengths stay what they are."""
    for secret in hidden:
        if secret in data:
            data = data.replace(secret, b"*" * len(secret))
    return data


async def _searched(
    body: AsyncIterator[bytes],
    hidden: tuple[bytes, ...],
    trailers: list[tuple[bytes, bytes]] | None = None,
) -> AsyncIterator[bytes]:
    """The same body; a secret may begin in one piece and end in another."""
    keep = max((len(secret) for secret in hidden), default=1) - 1
    held = b""
    async with aclosing(body) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            held = starred(held + piece, hidden)
            if len(held) > keep:
                end = len(held) - keep
                yield held[:end]
                held = held[end:]
    if held:
        yield held
    if trailers:
        trailers[:] = _without_in(tuple(trailers), hidden)


def decoded(response: HttpResponse) -> HttpResponse:
    """The same answer with a plain body; Failed where its coding is one that we do not know."""
    codings = [
        word.strip().lower()
        for name, value in response.headers
        if name in (b"content-encoding", b"grpc-encoding")
        for word in value.split(b",")
    ]
    codings = [coding for coding in codings if coding not in _PLAIN]
    if not codings or response.body == b"":
        return response
    # What gRPC packs is packed message by message.
    in_messages = response.header(b"grpc-encoding") not in (None, *_PLAIN)
    if len(codings) > 1 or codings[0] not in _PACKED or in_messages:
        raise UpstreamFailed(PACKED)
    headers = tuple(each for each in response.headers if each[0] not in _ABOUT_THE_PACKED)
    return replace(response, headers=headers, body=_unpacked(response.body))


async def _unpacked(body: bytes | AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    opening = zlib.decompressobj(_EITHER)
    if isinstance(body, bytes):
        for part in _parts(opening, body):
            yield part
    else:
        async with aclosing(body) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                for part in _parts(opening, piece):
                    yield part
    if not opening.eof:
        raise UpstreamFailed(BROKEN)  # it ends in the middle


def _parts(opening: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    left, more = piece, True
    while left or more:
        if opening.eof:
            if left:
                raise UpstreamFailed(BROKEN)  # something stands behind its end, unpacked by nobody
            return
        try:
            part = opening.decompress(left, _PIECE)
        except zlib.error as error:
            raise UpstreamFailed(BROKEN) from error
        if part:
            yield part
        left, more = opening.unconsumed_tail or opening.unused_data, len(part) == _PIECE
