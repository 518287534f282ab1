"""A request is read in one way only, or not at all."""

from __future__ import annotations

import pytest

from redoma.egress.downstream import RequestHead, read
from redoma.model.network import HTTP_2, NO_NAME, OTHER_NAME, TUNNEL, UNREADABLE


def head(text: str, scheme: str = "https", port: int = 443) -> RequestHead:
    return read(text.replace("\n", "\r\n").encode("latin-1"), "a.test", port, scheme)


def test_a_plain_request_is_read_whole() -> None:
    assert head(
        "POST /x?y=1 HTTP/1.1\nHost: A.test:443\nContent-Length: 3\nX-One:  two "
    ) == RequestHead(
        method="POST",
        target="/x?y=1",
        fields=((b"host", b"a.test"), (b"content-length", b"3"), (b"x-one", b"two")),
        length=3,
    )


def test_a_request_in_absolute_form_becomes_one_to_this_host() -> None:
    assert head("GET https://a.test/x HTTP/1.1\nHost: a.test").target == "/x"
    assert head("GET https://a.test?x HTTP/1.1\nHost: a.test").target == "/?x"
    assert head("GET https://a.test HTTP/1.1\nHost: a.test").target == "/"


@pytest.mark.parametrize(
    ("text", "why"),
    {
        "two hosts": ("GET / HTTP/1.1\nHost: a.test\nHost: a.test", UNREADABLE),
        "no host": ("GET / HTTP/1.1\nX: y", NO_NAME),
        "another host": ("GET / HTTP/1.1\nHost: b.test", OTHER_NAME),
        "a host and a user": ("GET / HTTP/1.1\nHost: b.test@a.test", OTHER_NAME),
        "another port": ("GET / HTTP/1.1\nHost: a.test:444", OTHER_NAME),
        "absolute, another host": ("GET https://b.test/ HTTP/1.1\nHost: a.test", OTHER_NAME),
        "absolute, another scheme": ("GET http://a.test/ HTTP/1.1\nHost: a.test", OTHER_NAME),
        "absolute, with a user": ("GET https://a.test@b.test/ HTTP/1.1\nHost: a.test", UNREADABLE),
        "a tunnel": ("CONNECT b.test:443 HTTP/1.1\nHost: a.test", TUNNEL),
        "a fragment": ("GET /x#y HTTP/1.1\nHost: a.test", UNREADABLE),
        "a folded line": ("GET / HTTP/1.1\nHost: a.test\n X: y", UNREADABLE),
        "a space before the colon": ("GET / HTTP/1.1\nHost : a.test", UNREADABLE),
        "a control character": ("GET / HTTP/1.1\nHost: a.test\nX: \x01", UNREADABLE),
        "two spaces": ("GET  / HTTP/1.1\nHost: a.test", UNREADABLE),
        "a tab": ("GET\t/ HTTP/1.1\nHost: a.test", UNREADABLE),
        "another version": ("GET / HTTP/1.2\nHost: a.test", UNREADABLE),
        "no version": ("GET /", UNREADABLE),
        "length and chunks": (
            "POST / HTTP/1.1\nHost: a.test\nContent-Length: 3\nTransfer-Encoding: chunked",
            UNREADABLE,
        ),
        "two lengths": (
            "POST / HTTP/1.1\nHost: a.test\nContent-Length: 3\nContent-Length: 3",
            UNREADABLE,
        ),
        "a list of lengths": ("POST / HTTP/1.1\nHost: a.test\nContent-Length: 3, 3", UNREADABLE),
        "a signed length": ("POST / HTTP/1.1\nHost: a.test\nContent-Length: +3", UNREADABLE),
        "another coding": (
            "POST / HTTP/1.1\nHost: a.test\nTransfer-Encoding: xchunked",
            UNREADABLE,
        ),
        "two codings": (
            "POST / HTTP/1.1\nHost: a.test\nTransfer-Encoding: gzip, chunked",
            UNREADABLE,
        ),
        "chunks of an old version": (
            "POST / HTTP/1.0\nHost: a.test\nTransfer-Encoding: chunked",
            UNREADABLE,
        ),
        "HTTP/2": ("PRI * HTTP/2.0", HTTP_2),
    }.values(),
)
def test_what_two_readers_might_read_differently_is_refused(text: str, why: str) -> None:
    assert head(text).refusal == why


@pytest.mark.parametrize(
    "raw", [b"GET / HTTP/1.1\nHost: a.test", b"GET / HTTP/1.1\r\nHost: a.test\rX: y"]
)
def test_a_line_ends_in_one_way(raw: bytes) -> None:
    assert read(raw, "a.test", 443, "https") == RequestHead(refusal=UNREADABLE)
