"""Unpacks the body of an answer that has to be searched.

Attack: a host that packs what it says, although it was asked not to, says a secret back in a form
that nobody finds. What cannot be unpacked here is not passed on.
"""

from __future__ import annotations

import zlib
from contextlib import aclosing

from redoma.egress.requests import Failed
from redoma.model.network import BROKEN, PACKED
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from redoma.egress.requests import Response

_PLAIN = (b"", b"identity")
_PACKED = (b"gzip", b"x-gzip", b"deflate")
# Reads the head of either form of them by itself.
_EITHER = zlib.MAX_WBITS | 32
# At one time: a few bytes may stand for gigabytes.
_PIECE = 1 << 16
_ABOUT_THE_PACKED = (b"content-encoding", b"content-length", b"content-md5", b"digest")


def decoded(response: Response) -> Response:
    """The same answer with a plain body; Failed where its coding is one that we do not know."""
    codings = [
        word.strip().lower()
        for name, value in response.headers
        if name == b"content-encoding"
        for word in value.split(b",")
    ]
    codings = [coding for coding in codings if coding not in _PLAIN]
    if not codings or response.body == b"":
        return response
    if len(codings) > 1 or codings[0] not in _PACKED:
        raise Failed(PACKED)
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
        raise Failed(BROKEN)  # it ends in the middle


def _parts(opening: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    left, more = piece, True
    while left or more:
        if opening.eof:
            if left:
                raise Failed(BROKEN)  # something stands behind its end, unpacked by nobody
            return
        try:
            part = opening.decompress(left, _PIECE)
        except zlib.error as error:
            raise Failed(BROKEN) from error
        if part:
            yield part
        left, more = opening.unconsumed_tail or opening.unused_data, len(part) == _PIECE
