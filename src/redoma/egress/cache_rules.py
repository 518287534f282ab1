"""What the rules of HTTP caching (RFC 9111) say of a request and of what is kept for it.

The rules themselves are hishel's, which knows of no connection and no clock but the wall's.
"""

from __future__ import annotations

import uuid
from hashlib import sha256

import hishel

from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.egress.cache_store import Kept
    from redoma.egress.requests import Headers, Request, Response

# One user's own: what is private to that user may be kept.
_PRIVATE = hishel.CacheOptions(shared=False, supported_methods=["GET"], allow_stale=False)
# These ask for the same thing in another way; every other header may change the answer.
_NOT_OF_THE_KEY = frozenset(
    b"if-none-match if-modified-since cache-control pragma content-length".split()
)
_CONDITIONS = frozenset(
    b"if-none-match if-modified-since if-match if-unmodified-since if-range".split()
)


def url_of(request: Request) -> str:
    """The address that a request is for."""
    return f"{request.scheme}://{request.host}:{request.port}{request.target}"


def key_of(request: Request, secret: str, host: str) -> str:
    """The same for requests that have to get the same answer, and for no others.

    Attack: a header that changes the answer and that the host does not name in `Vary` would have
    one command put its own answer in the place of another's. So every header counts.
    """
    parts = [request.method.encode(), url_of(request).encode(), secret.encode(), host.encode()]
    for name, value in sorted(request.headers):
        if name not in _NOT_OF_THE_KEY:
            parts += [name, value]
    return sha256(b"\0".join(parts)).hexdigest()


def looked_up(request: Request, kept: list[Kept]) -> hishel.AnyState:
    """What to do about a request: use what is kept, check it with the host, or ask anew."""
    asked = _asked(request)
    return hishel.IdleClient(options=_PRIVATE).next(asked, [_entry(asked, each) for each in kept])


def may_be_kept(request: Request, response: Response) -> bool:
    """Whether an answer may be kept at all."""
    state: hishel.AnyState = hishel.CacheMiss(request=_asked(request), options=_PRIVATE).next(
        hishel.Response(status_code=response.status, headers=_headers(response.headers))
    )
    while isinstance(state, hishel.InvalidateEntries):
        state = state.next()
    return isinstance(state, hishel.StoreAndUse)


def checked(request: Request, state: hishel.NeedRevalidation) -> Request:
    """The request that asks the host whether what is kept still holds."""
    return replace(request, headers=_plain(state.request.headers))


def freshened(state: hishel.NeedRevalidation, response: Response) -> list[tuple[str, Headers]]:
    """Each kept answer that a host stands by, with its new headers."""
    said = hishel.Response(status_code=response.status, headers=_headers(response.headers))
    now = state.next(said)
    if not isinstance(now, hishel.NeedToBeUpdated):
        return []
    return [(str(each.id), _plain(each.response.headers)) for each in now.updating_entries]


def unconditional(request: Request) -> Request:
    """The same without the client's own conditions: a kept answer has to be a whole one."""
    left = tuple(each for each in request.headers if each[0] not in _CONDITIONS)
    return replace(request, headers=left)


def _asked(request: Request) -> hishel.Request:
    return hishel.Request(
        method=request.method, url=url_of(request), headers=_headers(request.headers)
    )


def _entry(asked: hishel.Request, kept: Kept) -> hishel.Entry:
    # The key says that the headers were the same, so `Vary` is compared with these.
    response = hishel.Response(status_code=kept.status, headers=_headers(kept.headers))
    return hishel.Entry(id=uuid.UUID(kept.id), request=asked, response=response)


def _headers(fields: Headers) -> hishel.Headers:
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return hishel.Headers(dict(found))


def _plain(headers: hishel.Headers) -> Headers:
    return tuple(
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name in headers
        for value in headers.get_list(name) or ()
    )
