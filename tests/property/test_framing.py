"""What the strict reader of heads lets pass, another reader reads the same way."""

from __future__ import annotations

import h11
from hypothesis import example, given
from hypothesis import strategies as st

from redoma.egress.downstream import read

LINES = st.one_of(
    st.sampled_from(
        [
            b"Host: a.test",
            b"Host:a.test ",
            b"Content-Length: 3",
            b"content-length: 03",
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: Chunked",
            b"Connection: close",
            b"Expect: 100-continue",
            b" folded",
        ]
    ),
    st.binary(max_size=24),
)
STARTS = st.one_of(
    st.sampled_from([b"GET / HTTP/1.1", b"POST /a?b HTTP/1.0", b"GET https://a.test/ HTTP/1.1"]),
    st.binary(max_size=24).map(lambda text: b"GET /" + text + b" HTTP/1.1"),
)


@given(STARTS, st.lists(LINES, max_size=5))
@example(b"GET / HTTP/1.1", [b"Host: a.test", b"X: \xff\x80"])
@example(b"GET / HTTP/1.1", [b"Host: a.test", b"X:"])
@example(b"GET / HTTP/1.1", [b"Host: a.test", b"Transfer-Encoding: Chunked"])
@example(b"GET / HTTP/1.1", [b"Host: a.test", b"content-length: 03"])
def test_a_head_that_passes_is_one_request_to_another_reader_too(
    start: bytes, lines: list[bytes]
) -> None:
    raw = b"\r\n".join((start, *lines))
    head = read(raw, "a.test", 443, "https")
    if head.refusal:
        return
    other = h11.Connection(h11.SERVER)
    other.receive_data(raw + b"\r\n\r\n")
    event = other.next_event()
    assert isinstance(event, h11.Request)
    assert event.method.decode() == head.method
    assert event.target.decode() in (head.target, f"https://a.test{head.target}")
    read_by_other = [(bytes(name), bytes(value).lower()) for name, value in event.headers]
    hosts = [value for name, value in read_by_other if name == b"host"]
    assert hosts in ([b"a.test"], [b"a.test:443"], [b"a.test."], [b"a.test:"], [b"a.test.:443"])
    # The host is written anew; everything else is as it was sent.
    assert [each for each in read_by_other if each[0] != b"host"] == [
        (name, value.lower()) for name, value in head.fields if name != b"host"
    ]
    if not head.length and not head.chunked:
        assert isinstance(other.next_event(), h11.EndOfMessage)
        assert other.trailing_data[0] == b""
