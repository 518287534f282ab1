"""A host is asked over one connection as long as that stands, and never takes a part for a whole."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from redoma.egress.async_streams import Readiness
from redoma.egress.dial import dialled, interleaved
from redoma.egress.exchange import HttpRequest, HttpResponse, RequestBody, UpstreamFailed
from redoma.egress.upstream import TlsSessions, Upstream, end_to_end
from redoma.model.network import BROKEN, UNREACHABLE

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Host:
    """Answers what it hears with what it is told to, one script for each connection."""

    def __init__(self, *scripts: list[bytes]) -> None:
        self.heard: list[bytes] = []
        self.connections = 0
        self._scripts = list(scripts)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = self._scripts[self.connections]
        self.connections += 1
        with suppress(asyncio.IncompleteReadError):  # nobody asks any more
            for answer in script:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heard.append(head.split(b"\r\n")[0])
                writer.write(answer)
                await writer.drain()
        writer.close()


async def _nothing(*_: object) -> None:
    return


def request(method: str = "GET", *parts: bytes, breaks: bool = False) -> HttpRequest:
    async def pieces() -> AsyncIterator[bytes]:
        for part in parts:
            yield part
        if breaks:
            raise ConnectionResetError

    return HttpRequest(
        method=method,
        scheme="http",
        host="a.test",
        port=80,
        target="/",
        headers=((b"host", b"a.test"),),
        body=RequestBody(pieces(), _nothing, empty=not parts),
        inform=_nothing,
    )


async def whole(response: HttpResponse) -> bytes:
    assert not isinstance(response.body, bytes)
    return b"".join([piece async for piece in response.body])


def asked(host: Host, use: Callable[[Upstream], Awaitable[object]]) -> object:
    """What comes of using a host that listens on this machine."""

    async def go() -> object:
        server = await asyncio.start_server(host.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        upstream = Upstream("a.test", [("127.0.0.1", port)], Readiness(asyncio.get_running_loop()))
        try:
            return await asyncio.wait_for(use(upstream), 20)
        finally:
            await upstream.close()
            server.close()

    return asyncio.run(go())


def test_one_connection_serves_request_after_request() -> None:
    host = Host([OK, OK])

    async def use(upstream: Upstream) -> list[bytes]:
        return [await whole(await upstream.ask(request())) for _ in range(2)]

    assert (asked(host, use), host.connections) == ([b"ok", b"ok"], 1)


def test_a_connection_that_the_host_has_closed_is_made_anew() -> None:
    host = Host([OK], [OK])

    async def use(upstream: Upstream) -> list[bytes]:
        first = await whole(await upstream.ask(request()))
        await asyncio.sleep(0.1)
        return [first, await whole(await upstream.ask(request("POST", b"body")))]

    assert (asked(host, use), host.connections) == ([b"ok", b"ok"], 2)


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore",
        OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        OK.replace(b"1.1", b"1.0"),
    ],
    ids=["with more behind it", "the last", "of an old host"],
)
def test_after_some_answers_a_host_is_asked_over_another_connection(answer: bytes) -> None:
    host = Host([answer, OK], [OK])

    async def use(upstream: Upstream) -> list[bytes]:
        return [await whole(await upstream.ask(request())) for _ in range(2)]

    assert (asked(host, use), host.connections) == ([b"ok", b"ok"], 2)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok",
    ],
)
def test_an_answer_that_cannot_be_read_whole_is_a_failure(answer: bytes) -> None:
    async def use(upstream: Upstream) -> str:
        try:
            return repr(await whole(await upstream.ask(request())))
        except UpstreamFailed as failed:
            return failed.why

    assert asked(Host([answer]), use) == BROKEN


def test_a_host_that_nobody_is_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def go() -> str:
        try:
            await Upstream(
                "a.test", [("127.0.0.1", port)], Readiness(asyncio.get_running_loop())
            ).ask(request())
        except UpstreamFailed as failed:
            return failed.why
        return ""

    assert asyncio.run(go()) == UNREACHABLE


def test_a_body_that_breaks_off_ends_in_no_answer() -> None:
    async def use(upstream: Upstream) -> str:
        try:
            await upstream.ask(request("POST", b"half", breaks=True))
        except (UpstreamFailed, OSError) as error:
            return type(error).__name__
        return ""

    assert asked(Host([b""]), use) == "UpstreamFailed"


def test_an_answer_before_the_body_is_heard_is_passed_on() -> None:
    early = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"
    host = Host([early], [OK])

    async def use(upstream: Upstream) -> tuple[int, bytes]:
        first = await upstream.ask(request("POST", *(b"x" * 100_000,) * 50))
        await whole(first)
        return first.status, await whole(await upstream.ask(request()))

    assert asked(host, use) == (413, b"ok")


def test_what_is_about_one_connection_stays_on_it() -> None:
    fields = (
        (b"host", b"a.test"),
        (b"connection", b"close, X-Own, Host"),
        (b"x-own", b"1"),
        (b"upgrade", b"h2c"),
        (b"http2-settings", b"AAMAAABk"),
        (b"te", b"trailers"),
        (b"x-other", b"2"),
    )
    assert end_to_end(fields) == ((b"host", b"a.test"), (b"x-other", b"2"))


def test_a_host_whose_first_address_is_dead_is_reached_by_the_next() -> None:
    """As with IPv6 that leads nowhere: nothing comes back, and no error either."""

    async def go() -> tuple[str, float]:
        readiness = Readiness(asyncio.get_running_loop())
        # A queue that is full lets every further attempt hang.
        with (
            socket.create_server(("127.0.0.2", 0), backlog=0) as dead,
            socket.create_server(("127.0.0.1", dead.getsockname()[1])) as alive,
        ):
            full = [socket.socket() for _ in range(4)]
            for each in full:
                each.setblocking(False)
                each.connect_ex(dead.getsockname())
            port = alive.getsockname()[1]
            began = asyncio.get_running_loop().time()
            found, address = await dialled([("127.0.0.2", port), ("127.0.0.1", port)], readiness)
            took = asyncio.get_running_loop().time() - began
            for each in (found, *full):
                each.close()
        return address, took

    address, took = asyncio.run(go())
    assert address == "127.0.0.1"
    assert 0.2 < took < 2


def test_addresses_are_tried_in_turns_of_their_families() -> None:
    places = [("2600::1", 80), ("2600::2", 80), ("192.0.2.1", 80), ("192.0.2.2", 80)]
    assert [address for address, _ in interleaved(places)] == [
        "2600::1",
        "192.0.2.1",
        "2600::2",
        "192.0.2.2",
    ]


def test_a_connection_that_was_made_ahead_is_the_one_that_is_asked_over() -> None:
    host = Host([OK, OK])

    async def use(upstream: Upstream) -> list[bytes]:
        upstream.connect_ahead()
        return [await whole(await upstream.ask(request())) for _ in range(2)]

    assert (asked(host, use), host.connections) == ([b"ok", b"ok"], 1)


def test_a_host_that_closed_what_was_made_ahead_is_asked_all_the_same() -> None:
    host = Host([], [OK])

    async def use(upstream: Upstream) -> bytes:
        upstream.connect_ahead()
        while host.connections == 0:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        return await whole(await upstream.ask(request("POST", b"body")))

    assert (asked(host, use), host.connections) == (b"ok", 2)


def test_what_was_made_ahead_and_never_used_is_closed_and_no_fault() -> None:
    faults: list[object] = []
    ended = False

    async def go() -> None:
        nonlocal ended
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: faults.append(context))
        over = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()
            over.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        used = Upstream("a.test", [("127.0.0.1", port)], Readiness(loop))
        used.connect_ahead()
        await asyncio.sleep(0.2)
        await used.close()
        await asyncio.wait_for(over.wait(), 20)
        over.clear()
        below = await used.plain()
        used.connect_ahead(below)
        await used.close()  # before the task has begun
        await asyncio.wait_for(over.wait(), 20)
        ended = True
        server.close()
        # Attack on the gate: a host that is gone. Whoever did not need it is not told.
        gone = Upstream("a.test", [("127.0.0.1", port)], Readiness(loop))
        gone.connect_ahead()
        await asyncio.sleep(0.2)
        await gone.close()
        del used, gone
        gc.collect()

    asyncio.run(go())
    assert (ended, faults) == (True, [])


def test_the_next_connection_resumes_the_keys_of_the_last(tmp_path: Path) -> None:
    pair = [str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")]
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a.test"
    own = [
        *made.split(),
        "-addext",
        "subjectAltName=DNS:a.test",
        "-keyout",
        pair[0],
        "-out",
        pair[1],
    ]
    subprocess.run(["openssl", *own], check=True, capture_output=True)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(pair[1], pair[0])
    resumed: list[bool] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        resumed.append(writer.get_extra_info("ssl_object").session_reused)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()

    async def go() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=served)
        places = [("127.0.0.1", server.sockets[0].getsockname()[1])]
        readiness, sessions = Readiness(asyncio.get_running_loop()), TlsSessions()
        context, other = (ssl.create_default_context(cafile=pair[1]) for _ in range(2))
        for trust in (context, context, other):
            upstream = Upstream("a.test", places, readiness, trust, sessions=sessions)
            assert await whole(await upstream.ask(request())) == b"ok"
            await upstream.close()
        # A connection of one context is asked over while the next ones are made in another.
        upstream = Upstream("a.test", places, readiness, context, sessions=sessions)
        upstream.adopt(await upstream.connected())
        upstream.use(other)
        assert await whole(await upstream.ask(request())) == b"ok"
        await upstream.close()
        server.close()

    asyncio.run(go())
    # Attack: keys of a host that one set of authorities vouches for, taken up under another.
    assert resumed == [False, True, False, True]
