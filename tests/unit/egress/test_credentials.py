"""A secret that a gate adds is taken out of whatever a host says back, in whichever form."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from redoma.egress.credentials import CredentialHandler, read
from redoma.egress.exchange import HttpRequest, HttpResponse, RequestBody, UpstreamFailed
from redoma.model.errors import UsageError
from redoma.model.grant import Secret
from redoma.model.network import BROKEN, PACKED

TOKEN = "tok-5f2c81d09b7e"
ECHO = f"you said: {TOKEN}, and twice: {TOKEN}".encode()
# Without the time: these stand in the names of tests.
ZIPPED, ZIPPED_X = gzip.compress(ECHO, mtime=0), gzip.compress(b"x", mtime=0)
STARRED = ECHO.replace(TOKEN.encode(), b"*" * len(TOKEN))
CREDENTIALS = CredentialHandler(((read("a.test=A_TOKEN"), Secret(TOKEN)),))


async def _pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


class Client:
    """A program that asks once, and keeps what it hears."""

    def __init__(self, method: str = "GET") -> None:
        self.hints: list[tuple[int, tuple[tuple[bytes, bytes], ...]]] = []
        self._method = method

    async def _hear(self, status: int, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        self.hints.append((status, headers))

    def gets(
        self, answer: HttpResponse, hint: tuple[tuple[bytes, bytes], ...] = ()
    ) -> HttpResponse:
        return asyncio.run(self._asked(answer, hint))

    async def _asked(
        self, answer: HttpResponse, hint: tuple[tuple[bytes, bytes], ...]
    ) -> HttpResponse:
        async def nothing() -> None:
            return None

        async def host(request: HttpRequest) -> HttpResponse:
            assert request.header(b"authorization") == f"Bearer {TOKEN}".encode()
            if hint:
                await request.inform(103, hint)
            return answer

        made = HttpRequest(
            method=self._method,
            scheme="https",
            host="a.test",
            port=443,
            target="/",
            headers=((b"host", b"a.test"),),
            body=RequestBody(_pieces(b"", 1), nothing, empty=True),
            inform=self._hear,
        )
        heard = await CREDENTIALS.handle(made, host)
        if isinstance(heard.body, bytes):
            return heard
        whole = b"".join([piece async for piece in heard.body])
        return HttpResponse(
            status=heard.status, headers=heard.headers, reason=heard.reason, body=whole
        )


@pytest.mark.parametrize("size", [1, 3, 17, 4096])
@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("identity", ECHO),
        ("gzip", ZIPPED),
        ("x-gzip", ZIPPED),
        ("deflate", zlib.compress(ECHO)),
        ("GZip", ZIPPED),
    ],
)
def test_it_is_found_in_a_body_however_that_is_packed(
    coding: str, packed: bytes, size: int
) -> None:
    headers = ((b"content-encoding", coding.encode()), (b"content-length", b"%d" % len(packed)))
    found = Client().gets(HttpResponse(status=200, headers=headers, body=_pieces(packed, size)))
    assert found.body == STARRED


def test_an_answer_that_was_unpacked_does_not_say_that_it_is_packed() -> None:
    headers = ((b"content-encoding", b"gzip"), (b"content-length", b"9"), (b"etag", b"x"))
    found = Client().gets(HttpResponse(status=200, headers=headers, body=ZIPPED))
    assert (found.headers, found.body) == (((b"etag", b"x"),), STARRED)


@pytest.mark.parametrize("coding", [b"br", b"zstd", b"gzip, gzip", b"aes"])
def test_what_cannot_be_unpacked_is_not_passed_on(coding: bytes) -> None:
    answer = HttpResponse(status=200, headers=((b"content-encoding", coding),), body=b"x")
    with pytest.raises(UpstreamFailed, match=PACKED):
        Client().gets(answer)


@pytest.mark.parametrize(
    "packed",
    [ZIPPED[:-1], ECHO, ZIPPED_X + ECHO, ZIPPED_X * 2],
    ids=["cut off", "not packed", "plain behind it", "another behind it"],
)
def test_what_is_not_packed_as_it_says_is_not_passed_on(packed: bytes) -> None:
    headers = ((b"content-encoding", b"gzip"),)
    with pytest.raises(UpstreamFailed, match=BROKEN):
        Client().gets(HttpResponse(status=200, headers=headers, body=_pieces(packed, 7)))


def test_a_few_bytes_that_stand_for_many_are_unpacked_in_pieces() -> None:
    bomb = gzip.compress(bytes(32 << 20))
    headers = ((b"content-encoding", b"gzip"),)

    async def largest() -> tuple[int, int]:
        from redoma.egress.credentials import decoded

        opened = decoded(HttpResponse(status=200, headers=headers, body=bomb)).body
        assert not isinstance(opened, bytes)
        sizes = [len(piece) async for piece in opened]
        return max(sizes), sum(sizes)

    assert asyncio.run(largest()) == (1 << 16, 32 << 20)


def test_without_a_body_nothing_is_unpacked() -> None:
    headers = ((b"content-encoding", b"br"), (b"content-length", b"512"))
    assert Client("HEAD").gets(HttpResponse(status=200, headers=headers)).headers == headers
    assert Client().gets(HttpResponse(status=304, headers=headers)).headers == headers


def test_it_is_taken_out_of_what_comes_before_an_answer_and_of_its_head() -> None:
    client = Client()
    said = TOKEN.encode()
    stars = b"*" * len(said)
    found = client.gets(
        HttpResponse(status=200, reason=b"for " + said, headers=((b"x-" + said, said),)),
        hint=((b"link", b"</" + said + b">"),),
    )
    assert client.hints == [(103, ((b"link", b"</" + stars + b">"),))]
    assert (found.reason, found.headers) == (b"for " + stars, ((b"x-" + stars, stars),))


@pytest.mark.parametrize(
    ("text", "secret"), [("a.test=A", "abc"), ("a.test=basic:A", "me:abc"), ("a.test=X-Key:A", "1")]
)
def test_a_secret_that_cannot_be_told_from_other_text_is_refused(text: str, secret: str) -> None:
    with pytest.raises(UsageError, match="fewer than 4 characters"):
        CredentialHandler(((read(text), Secret(secret)),))


@pytest.mark.parametrize(
    ("text", "secret", "echo"),
    [
        ("a.test=A", "1234", b"1234"),
        ("a.test=basic:A", "me:pass", b"pass"),
        ("a.test=basic:A", "key-1:", b"key-1"),
    ],
)
def test_a_short_secret_is_taken_out_like_any_other(text: str, secret: str, echo: bytes) -> None:
    handler = CredentialHandler(((read(text), Secret(secret)),))

    async def nothing() -> None:
        return None

    async def host(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200, body=b"said " + echo)

    async def hear(status: int, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        return None

    made = HttpRequest(
        method="GET",
        scheme="https",
        host="a.test",
        port=443,
        target="/",
        headers=(),
        body=RequestBody(_pieces(b"", 1), nothing, empty=True),
        inform=hear,
    )
    assert asyncio.run(handler.handle(made, host)).body == b"said " + b"*" * len(echo)
