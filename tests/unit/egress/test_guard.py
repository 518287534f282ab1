"""A connection goes on only where it names the host that it was let through for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.egress.guard import ConnectionGuard, looks_like
from redoma.model.network import HIDDEN_NAME, NO_NAME, OTHER_NAME, UNREADABLE
from tests.unit.egress.hellos import hello, name_of, real

NAME = "api.example"


def guard(*, port: int = 80, web_only: bool = True) -> ConnectionGuard:
    return ConnectionGuard(
        NAME, port, web_only=web_only, may_tunnel=lambda host, at: (host, at) == (NAME, 443)
    )


def request(host: str = NAME, *more: str, line: str = "GET / HTTP/1.1", body: str = "") -> bytes:
    return "\r\n".join([line, f"Host: {host}", *more, "", body]).encode()


def said(data: bytes, *, port: int = 80, web_only: bool = True) -> tuple[bytes, str]:
    """What passes of a client's bytes, and why the rest does not."""
    one = guard(port=port, web_only=web_only)
    return one.client(data), one.refusal


@pytest.mark.parametrize(
    "data",
    [
        request(),
        request("API.example."),
        request("api.example:80"),
        request(line="GET http://api.example/x HTTP/1.1"),
        request(line="OPTIONS * HTTP/1.1"),
        request(NAME, "Content-Length: 5", line="POST / HTTP/1.1", body="hello"),
        request(
            NAME,
            "Transfer-Encoding: chunked",
            line="POST / HTTP/1.1",
            body="5\r\nhello\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n",
        ),
        request() + request(),
        request(NAME, "Content-Length: 2", line="PUT /a HTTP/1.1", body="ab") + request(),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_requests_to_the_granted_host_pass_whole(data: bytes, step: int) -> None:
    one = guard()
    passed = b"".join(one.client(data[at : at + step]) for at in range(0, len(data), step))
    assert (passed, one.refusal) == (data, "")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (request("evil.example"), OTHER_NAME),
        (request("api.example:8080"), OTHER_NAME),
        (request("api.example.evil.example"), OTHER_NAME),
        (request(line="GET http://evil.example/ HTTP/1.1"), OTHER_NAME),
        (request(line="GET http://api.example@evil.example/ HTTP/1.1"), OTHER_NAME),
        (request(line="CONNECT evil.example:443 HTTP/1.1"), OTHER_NAME),
        (request(line="CONNECT api.example:22 HTTP/1.1"), OTHER_NAME),
        (b"GET / HTTP/1.1\r\n\r\n", NO_NAME),
        (request(NAME, "Host: evil.example"), UNREADABLE),
        (request(NAME, " folded"), UNREADABLE),
        (request(NAME, "X : y"), UNREADABLE),
        (b"GET / HTTP/1.1\nHost: api.example\n\n" + b"x" * 90_000, UNREADABLE),
        (request(NAME, "Content-Length: 5", "Transfer-Encoding: chunked"), UNREADABLE),
        (request(NAME, "Content-Length: 5", "Content-Length: 6"), UNREADABLE),
        (request(NAME, "Content-Length: +5"), UNREADABLE),
        (request(NAME, "Transfer-Encoding: gzip, chunked"), UNREADABLE),
        (request(NAME, "X: a\rb"), UNREADABLE),
        (request(NAME, "X: a\0b"), UNREADABLE),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", UNREADABLE),
        (b"SSH-2.0-OpenSSH\r\n", UNREADABLE),
        (b"\0\0\0\x08\4\xd2\x16\x2f", UNREADABLE),
        (b"A" * 20_000, UNREADABLE),
    ],
)
def test_what_names_another_host_or_none_does_not_pass(data: bytes, why: str) -> None:
    assert said(data) == (b"", why)


def test_a_second_request_to_another_host_does_not_pass() -> None:
    one = guard()
    assert one.client(request()) == request()
    assert (one.client(request("evil.example")), one.refusal) == (b"", OTHER_NAME)


def test_a_body_cannot_be_longer_than_it_says() -> None:
    first = request(NAME, "Content-Length: 3", line="POST / HTTP/1.1", body="abc")
    one = guard()
    assert one.client(first) == first
    assert (one.client(request("evil.example")), one.refusal) == (b"", OTHER_NAME)


@pytest.mark.parametrize("size", ["zz", "-1", "5 5", "1" * 20, ""])
def test_a_chunk_without_a_size_does_not_pass(size: str) -> None:
    one = guard()
    head = request(NAME, "Transfer-Encoding: chunked", line="POST / HTTP/1.1")
    assert one.client(head) == head
    assert (one.client(f"{size}\r\n".encode()), one.refusal) == (b"", UNREADABLE)


def test_a_websocket_is_opaque_once_the_server_agrees() -> None:
    one = guard()
    asked = request(NAME, "Upgrade: websocket", "Connection: Upgrade")
    assert one.client(asked) == asked
    assert one.client(b"\x81\x85early") == b""
    assert one.server(b"HTTP/1.1 101 Switching Protocols\r\n\r\n") == b"\x81\x85early"
    assert (one.opaque, one.client(b"\x81\x85")) == (True, b"\x81\x85")


def test_an_upgrade_that_the_server_declines_hides_no_request() -> None:
    one = guard()
    one.client(request(NAME, "Upgrade: websocket", "Connection: Upgrade"))
    one.client(request("evil.example"))
    assert (one.server(b"HTTP/1.1 200 OK\r\n"), one.refusal) == (b"", OTHER_NAME)


def test_a_tunnel_to_a_granted_host_is_guarded_inside_as_well() -> None:
    one = guard(port=3128)
    asked = request(line="CONNECT api.example:443 HTTP/1.1")
    assert one.client(asked) == asked
    assert one.server(b"HTTP/1.1 200 OK\r\n\r\n") == b""
    assert (one.client(real("evil.example")), one.refusal) == (b"", OTHER_NAME)


def test_tls_to_the_granted_host_passes_whole_and_unread() -> None:
    one = guard(port=443)
    data = real(NAME)
    assert (one.client(data[:40]), one.client(data[40:]), one.opaque) == (b"", data, True)
    assert one.client(b"\0\1\2") == b"\0\1\2"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (real("evil.example"), OTHER_NAME),
        (real(None), NO_NAME),
        (hello(name_of(NAME.encode()), (0xFE0D, b"\0")), HIDDEN_NAME),
        (b"\x16\3\1\0\0", UNREADABLE),
    ],
)
@pytest.mark.parametrize("web_only", [True, False])
def test_tls_that_names_another_host_or_none_does_not_pass(
    data: bytes, why: str, *, web_only: bool
) -> None:
    assert said(data, port=443, web_only=web_only) == (b"", why)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\0\0\0\x08\4\xd2\x16\x2f",
        b"EHLO me\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\1\0",
    ],
)
def test_on_a_port_granted_by_number_other_protocols_pass(data: bytes) -> None:
    assert said(data, port=5432, web_only=False) == (data, "")


def test_on_a_port_granted_by_number_http_is_still_held_to_its_name() -> None:
    assert said(request("evil.example"), port=8080, web_only=False) == (b"", OTHER_NAME)
    assert said(b"\r\n" + request("evil.example"), port=8080, web_only=False)[0] == b""


def test_who_is_refused_is_told_in_its_own_language() -> None:
    web, tls = guard(), guard(port=443)
    web.client(request("evil.example"))
    tls.client(real("evil.example"))
    assert web.farewell.startswith(b"HTTP/1.1 403 ")
    assert tls.farewell[:1] == b"\x15"


@given(st.lists(st.binary(max_size=300), max_size=8), st.booleans())
def test_no_bytes_make_a_guard_raise_or_pass_what_was_not_sent(
    parts: list[bytes], web_only: bool
) -> None:
    one = guard(web_only=web_only)
    passed = b"".join(one.client(part) for part in parts)
    assert b"".join(parts).startswith(passed)


@given(st.lists(st.sampled_from([request(), request("evil.example"), b"\r\n", b"0", b"GET "])))
def test_no_order_of_requests_lets_another_host_pass(parts: list[bytes]) -> None:
    one = guard()
    passed = b"".join(one.client(part) for part in parts)
    assert b"evil.example" not in passed


def test_how_http_begins_is_told_as_soon_as_it_can_be() -> None:
    told = {
        data: looks_like(data)
        for data in (b"", b"GE", b"GET / HT", b"GET / HTTP/1.1\r\n", b"get", b"\0", b"NICK a\n")
    }
    assert told == {
        b"": None,
        b"GE": None,
        b"GET / HT": None,
        b"GET / HTTP/1.1\r\n": True,
        b"get": False,
        b"\0": False,
        b"NICK a\n": False,
    }
