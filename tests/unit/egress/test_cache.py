"""What a host has said is used as RFC 9111 allows, and a host is asked no more than it may be."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from email.utils import formatdate
from pathlib import Path

import pytest

from redoma.egress.cache import ResponseCache
from redoma.egress.cache_store import NAME, CacheStore
from redoma.egress.credentials import read_all
from redoma.egress.exchange import HttpRequest, HttpResponse, RequestBody, private
from redoma.egress.host_rules import read
from redoma.model.grant import Secret
from redoma.model.network import Reach
from redoma.model.value import replace

pytestmark = pytest.mark.requirement("S13")

REACH = Reach(cache=("api.test", "*.kept.test"))
NOW = 2_000_000_000.0


class Host:
    """A host with a list of answers, which notes what it is asked."""

    def __init__(self, *answers: HttpResponse) -> None:
        self.answers = list(answers)
        self.asked: list[HttpRequest] = []

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class World:
    """A cache in a directory, with a clock that is set by hand."""

    def __init__(
        self,
        place: Path,
        secrets: dict[str, str] | None = None,
        most_bytes: int = 1 << 20,
        ignores: tuple[str, ...] = (),
    ) -> None:
        self.now = NOW
        self.store = CacheStore(str(place), most_bytes=most_bytes)
        self.cache = ResponseCache(
            replace(REACH, cache_ignores=ignores), self.store, secrets, lambda: self.now
        )

    def get(
        self,
        asked: Host,
        target: str = "/x",
        *,
        method: str = "GET",
        host: str = "api.test",
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> HttpResponse:
        made = request(target, method=method, host=host, headers=headers)
        return asyncio.run(self.cache.handle(made, asked))


async def _nothing() -> AsyncIterator[bytes]:
    for piece in list[bytes]():
        yield piece


async def _leave(*_: object) -> None:
    return None


def request(
    target: str = "/x",
    *,
    method: str = "GET",
    host: str = "api.test",
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> HttpRequest:
    return HttpRequest(
        method=method,
        scheme="https",
        host=host,
        port=443,
        target=target,
        headers=((b"host", host.encode()), *headers),
        body=RequestBody(_nothing(), _leave, empty=True),
        inform=_leave,
    )


def said(body: bytes = b"one", status: int = 200, **headers: str) -> HttpResponse:
    made = tuple((k.replace("_", "-").encode(), v.encode()) for k, v in headers.items())
    return HttpResponse(status=status, headers=made, body=body)


def how(response: HttpResponse) -> str:
    return (response.header(b"redoma-cache") or b"").decode()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_same_is_asked_no_more_often_than_every_thirty_seconds(world: World) -> None:
    host = Host(said(b"one", cache_control="no-cache"), said(b"two", cache_control="no-cache"))
    assert (how(world.get(host)), len(host.asked)) == ("stored", 1)
    world.now += 29
    again = world.get(host, headers=())
    assert (again.body, again.by, again.header(b"age")) == (b"one", "cache", b"29")
    assert how(again) == "held; asked 29 s ago"
    world.now += 2
    assert (world.get(host).body, len(host.asked)) == (b"two", 2)


ID = b"3f2b8c1e-0d4a-4a53-9d7c-5a1f2e3b4c5d"
OTHER = b"9a0d1c2b-3e4f-4a5b-8c7d-6e5f4a3b2c1d"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((b"x-request-id", b"1"), (b"x-request-id", b"2")),
        ((b"traceparent", b"00-a-b-01"), (b"traceparent", b"00-c-d-01")),
        ((b"date", b"Mon"), (b"date", b"Tue")),
        ((b"amz-sdk-invocation-id", b"1"), (b"x-ms-client-request-id", b"2")),
        ((b"x-run-id", b"1"), (b"x-run-id", b"2")),
        ((b"user-agent", b"sdk/1 id/" + ID), (b"user-agent", b"sdk/1 id/" + OTHER)),
        ((b"x-goog-api-client", b"gl/1 id/" + ID), (b"x-goog-api-client", b"gl/1 id/" + OTHER)),
    ],
    ids=lambda each: str(each[0]),
)
def test_a_header_that_varies_for_no_reason_does_not_have_a_host_asked_again(
    tmp_path: Path, first: tuple[bytes, bytes], second: tuple[bytes, bytes]
) -> None:
    world = World(tmp_path, ignores=("x-run-id",))
    host = Host(said(b"one", vary="Accept, User-Agent" if first[0][:1] == b"x" else "Accept"))
    world.get(host, headers=(first,))
    again = world.get(host, headers=(second,))
    assert (again.body, again.by, len(host.asked)) == (b"one", "cache", 1)
    # Attack: whatever may change an answer still does.
    world.get(host, headers=(second, (b"x-tenant", b"other")))
    assert len(host.asked) == 2


@pytest.mark.parametrize(
    ("vary", "header"),
    [("X-Request-Id", b"x-request-id"), ("User-Agent", b"user-agent"), ("X-Run-Id", b"x-run-id")],
)
def test_a_host_that_says_it_looks_at_such_a_header_is_asked_each_time(
    tmp_path: Path, vary: str, header: bytes
) -> None:
    world = World(tmp_path, ignores=("x-run-id",))
    host = Host(said(b"one", vary=f"Accept, {vary}", cache_control="max-age=60"))
    world.get(host, headers=((header, ID),))
    world.get(host, headers=((header, OTHER),))
    assert len(host.asked) == 2


def test_another_program_is_another_user_agent(world: World) -> None:
    host = Host(said())
    world.get(host, headers=((b"user-agent", b"curl/8.1"),))
    world.get(host, headers=((b"user-agent", b"curl/8.2"),))
    assert len(host.asked) == 2


def test_head_is_answered_from_what_is_known_as_get_is(world: World) -> None:
    host = Host(said(b"", content_length="3", etag="x", x_by="head"))
    first = world.get(host, method="HEAD")
    again = world.get(host, method="HEAD", headers=((b"x-request-id", b"2"),))
    assert (len(host.asked), again.by, again.body) == (1, "cache", b"")
    assert again.header(b"content-length") == first.header(b"content-length") == b"3"
    # A `GET` wants the body, and what it brings answers the next `HEAD`.
    whole = Host(said(b"one", x_by="get"))
    assert world.get(whole).body == b"one"
    last = world.get(whole, method="HEAD")
    assert (last.body, last.header(b"content-length"), last.header(b"x-by")) == (b"", b"3", b"get")
    assert len(whole.asked) == 1
    world.now += 31
    world.get(host, method="HEAD")
    assert len(host.asked) == 2


def test_other_paths_and_other_hosts_are_asked_at_once(world: World) -> None:
    host = Host(said())
    world.get(host, "/x")
    world.get(host, "/y")
    world.get(host, "/x", host="a.kept.test")
    assert len(host.asked) == 3
    world.get(host, "/x", host="other.test")
    world.get(host, "/x", host="other.test")
    assert len(host.asked) == 5


def test_what_is_fresh_is_used_for_as_long_as_its_host_says(tmp_path: Path) -> None:
    import time

    world = World(tmp_path)
    world.now = time.time()
    host = Host(said(cache_control="max-age=3600", date=formatdate(world.now, usegmt=True)))
    world.get(host)
    world.now += 100
    fresh = world.get(host)
    assert (how(fresh), fresh.body, len(host.asked)) == ("hit", b"one", 1)


def test_what_is_stale_is_checked_by_its_validator(world: World) -> None:
    host = Host(said(etag='"v1"', cache_control="no-cache"), said(b"", 304, etag='"v1"'))
    world.get(host)
    world.now += 60
    again = world.get(host)
    assert (again.status, again.body, how(again)) == (200, b"one", "revalidated")
    assert host.asked[1].header(b"if-none-match") == b'"v1"'
    world.now += 10
    assert how(world.get(host)) == "held; asked 10 s ago"


def test_a_clients_own_condition_does_not_make_an_empty_answer_of_a_whole_one(
    world: World,
) -> None:
    host = Host(said(etag='"v1"'))
    world.get(host, headers=((b"if-none-match", b'"v1"'),))
    assert host.asked[0].header(b"if-none-match") is None
    assert world.get(host).body == b"one"


@pytest.mark.parametrize(
    "answer",
    [
        said(cache_control="no-store"),
        said(cache_control="max-age=60", set_cookie="a=b"),
        said(cache_control="max-age=60", content_type="text/event-stream"),
        said(cache_control="max-age=60", vary="*"),
    ],
    ids=["no-store", "set-cookie", "event-stream", "vary-star"],
)
def test_what_may_not_be_kept_or_used_again_is_asked_again(
    world: World, answer: HttpResponse
) -> None:
    host = Host(answer)
    world.get(host)
    world.now += 31
    assert (world.get(host).by, len(host.asked)) == ("", 2)


def test_nobody_gets_what_another_was_answered(tmp_path: Path) -> None:
    world = World(tmp_path)
    host = Host(said(b"hers"), said(b"his"), said(b"with x"), said(b"of the vault"))
    assert world.get(host, headers=((b"authorization", b"Bearer a"),)).body == b"hers"
    assert world.get(host, headers=((b"authorization", b"Bearer b"),)).body == b"his"
    # Nor by a header that the host does not name in `Vary`.
    assert world.get(host, headers=((b"x-forwarded-host", b"evil"),)).body == b"with x"
    other = World(tmp_path, {"api.test": "a secret of the vault"})
    assert other.get(host).body == b"of the vault"
    assert len(host.asked) == 4


def test_only_gets_and_heads_are_answered_from_what_is_kept(world: World) -> None:
    host = Host(said(cache_control="max-age=3600"))
    for method in ("POST", "POST", "PUT", "DELETE", "OPTIONS", "OPTIONS"):
        world.get(host, method=method)
    world.get(host, headers=((b"range", b"bytes=0-1"),))
    world.get(host, headers=((b"range", b"bytes=0-1"),))
    assert len(host.asked) == 8


def test_what_was_changed_is_forgotten(world: World) -> None:
    host = Host(said(b"old"), said(b"done"), said(b"new"))
    world.get(host)
    world.get(host, method="PUT")
    assert world.get(host).body == b"new"


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_wants_to_be_left_alone_is(world: World, status: int) -> None:
    host = Host(said(b"busy", status, retry_after="120"), said())
    assert world.get(host).status == status
    world.now += 60
    told = [world.get(host, "/y"), world.get(host, "/z", method="POST")]
    assert [(r.status, r.header(b"retry-after"), how(r), r.by) for r in told] == [
        (429, b"61", "wait", "cache")
    ] * 2
    assert len(host.asked) == 1
    world.get(Host(said()), host="a.kept.test")
    world.now += 61
    assert world.get(host, "/y").status == 200


def test_a_moment_to_come_back_and_none_at_all_are_understood(world: World) -> None:
    moment = formatdate(NOW + 300, usegmt=True)
    world.get(Host(said(b"", 503, retry_after=moment)))
    assert world.store.waits("api.test") == NOW + 300
    world.get(Host(said(b"", 429)), host="a.kept.test")
    assert world.store.waits("a.kept.test") == NOW + 30
    world.get(Host(said(b"", 429, retry_after="99999999")), host="b.kept.test")
    assert world.store.waits("b.kept.test") == NOW + 3600


def test_what_is_kept_is_used_while_a_host_is_left_alone(world: World) -> None:
    world.get(Host(said()))
    world.get(Host(said(b"", 429, retry_after="20")), "/y")
    assert world.get(Host(said(b"never"))).body == b"one"


def test_two_of_the_same_at_one_time_are_one_question(world: World) -> None:
    host = Host(said())

    async def both() -> list[HttpResponse]:
        asked = (world.cache.handle(request(), host) for _ in range(2))
        return list(await asyncio.gather(*asked))

    assert [each.body for each in asyncio.run(both())] == [b"one", b"one"]
    assert len(host.asked) == 1


def test_a_long_answer_passes_whole_and_is_not_kept(world: World) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b"x" * (1 << 20)

    async def read() -> int:
        host = Host(HttpResponse(status=200, body=pieces()))
        response = await world.cache.handle(request(), host)
        assert not isinstance(response.body, bytes)
        return sum([len(piece) async for piece in response.body])

    assert asyncio.run(read()) == 10 << 20
    assert world.get(Host(said(b"again"))).body == b"again"


def test_what_is_kept_is_for_its_user_alone_and_outlives_a_run(tmp_path: Path) -> None:
    World(tmp_path).get(Host(said()))
    assert World(tmp_path).get(Host(said(b"never"))).body == b"one"
    assert stat.S_IMODE(os.stat(tmp_path / NAME).st_mode) == 0o600
    assert b"Bearer" not in (tmp_path / NAME).read_bytes()


def test_a_store_that_cannot_be_used_is_a_host_that_is_asked(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"no database " * 1000)
    host = Host(said(b"one"), said(b"two"))
    world = World(tmp_path)
    assert [world.get(host).body, world.get(host).body] == [b"one", b"two"]


def test_the_oldest_answers_go_where_they_are_too_much(tmp_path: Path) -> None:
    world = World(tmp_path, most_bytes=2000)
    for number in range(4):
        world.now += 1
        world.get(Host(said(b"x" * 900)), f"/{number}")
    world.now += 1
    assert [world.get(Host(said(b"anew")), f"/{n}").body for n in (3, 2, 0)] == [
        b"x" * 900,
        b"x" * 900,
        b"anew",
    ]


def test_a_request_with_a_body_is_never_answered_from_what_is_kept(world: World) -> None:
    host = Host(said(b"one", cache_control="max-age=60"), said(b"two"))
    world.get(host)
    made = replace(request(), body=RequestBody(_nothing(), _leave, empty=False))
    assert asyncio.run(world.cache.handle(made, host)).body == b"two"


def test_what_a_name_says_that_was_led_elsewhere_is_no_answer_for_another_run(
    tmp_path: Path,
) -> None:
    led = World(tmp_path)
    pinned = replace(REACH, hosts=read(["api.test=127.0.0.1:8443"]).hosts)
    led.cache = ResponseCache(pinned, led.store, None, lambda: led.now)
    forged = Host(
        said(b"forged", cache_control="max-age=86400"), said(status=429, retry_after="3600")
    )
    assert how(led.get(forged)) == "stored"
    assert led.get(forged, "/busy").status == 429
    assert led.get(forged, "/other").status == 429
    true = Host(said(b"true"))
    other = World(tmp_path)
    assert (other.get(true).body, other.get(true, "/other").body) == (b"true", b"true")
    assert led.get(forged).body == b"forged"


def test_every_secret_of_a_host_keeps_its_answers_apart(tmp_path: Path) -> None:
    credentials = read_all(["api.test=X-One:A", "api.test=X-Two:B"], ["api.test"])
    reach = replace(REACH, credentials=credentials)
    first = private(reach, (Secret("secret-a"), Secret("secret-b")))
    assert private(reach, (Secret("another"), Secret("secret-b"))) != first
    assert private(reach, (Secret("secret-a"), Secret("another"))) != first
    assert private(reach, (Secret("secret-a"), Secret("secret-b"))) == first
    assert "secret" not in str(first)


def test_headers_count_as_what_they_belong_to_does(tmp_path: Path) -> None:
    world = World(tmp_path, most_bytes=2000)
    long = "x" * 1500
    first = Host(said(b"one", cache_control="max-age=600", x_long=long), said(b"again"))
    world.get(first, "/1")
    world.now += 1
    world.get(Host(said(b"two", cache_control="max-age=600", x_long=long)), "/2")
    assert world.get(first, "/1").body == b"again"


def test_an_answer_without_a_length_is_passed_on_as_it_comes_and_kept_at_its_end(
    world: World,
) -> None:
    gate = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"first "
        await gate.wait()
        yield b"last"

    async def go() -> list[bytes]:
        answer = HttpResponse(status=200, headers=((b"cache-control", b"no-cache"),), body=slowly())
        response = await asyncio.wait_for(world.cache.handle(request(), Host(answer)), 5)
        assert not isinstance(response.body, bytes)
        pieces = [await asyncio.wait_for(anext(response.body), 5)]
        assert world.store.answers("") == []
        gate.set()
        return pieces + [piece async for piece in response.body]

    assert asyncio.run(go()) == [b"first ", b"last"]
    kept = world.get(Host(said(b"another")))
    assert (kept.body, how(kept)[:4]) == (b"first last", "held")
