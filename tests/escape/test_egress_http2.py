"""Under inspection HTTP/2 is read like HTTP/1: each stream is judged, and gRPC works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.egress.credentials import read_all
from redoma.model.network import BODY_NOT_READ, OTHER_NAME, REQUEST_NOT_GRANTED, UNREADABLE
from redoma.model.result import Result
from tests.escape.gated import refusals, said
from tests.escape.http2_host import Http2Host
from tests.escape.reading import inspected, reading, requests_of, trusted

pytestmark = pytest.mark.both_users

LIBRARIES = ("h2", "hpack", "hyperframe")
# A client of HTTP/2 that says what it likes: streams one after the other, or beside each other.
CLIENT = """
import h2.connection, h2.config, h2.events
class Client:
    def __init__(self, port=443, tls=True, check=True):
        raw = socket.create_connection(("a.test", port), timeout=10)
        if tls:
            context = ssl.create_default_context(); context.set_alpn_protocols(["h2", "http/1.1"])
            raw = context.wrap_socket(raw, server_hostname="a.test")
            self.protocol = raw.selected_alpn_protocol()
        self.raw = raw
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            header_encoding="utf-8", validate_outbound_headers=check, normalize_outbound_headers=check))
        self.h2.initiate_connection(); self.flush()
        self.scheme = "https" if tls else "http"
        self.got = {}
    def flush(self): self.raw.sendall(self.h2.data_to_send())
    def ask(self, path, *more, method="GET", authority="a.test", end=True):
        number = self.h2.get_next_available_stream_id()
        self.h2.send_headers(number, [(":method", method), (":scheme", self.scheme),
            (":authority", authority), (":path", path), *more], end_stream=end)
        self.flush(); self.got[number] = dict(status="", body=b"", trailers={}, over=False)
        return number
    def send(self, number, data, end=False):
        self.h2.send_data(number, data, end_stream=end); self.flush()
    def until(self, done):
        while not done():
            data = self.raw.recv(65536)
            if not data: raise OSError("closed")
            for e in self.h2.receive_data(data):
                one = self.got.get(getattr(e, "stream_id", None))
                if isinstance(e, h2.events.ResponseReceived): one["status"] = dict(e.headers)[":status"]; one["head"] = dict(e.headers)
                if isinstance(e, h2.events.DataReceived):
                    one["body"] += e.data; self.h2.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
                if isinstance(e, h2.events.TrailersReceived): one["trailers"] = dict(e.headers)
                if isinstance(e, (h2.events.StreamEnded, h2.events.StreamReset)): one["over"] = True
            self.flush()
    def answer(self, number):
        self.until(lambda: self.got[number]["over"]); return self.got[number]
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Http2Host]:
    with trusted(tmp_path, "a.test") as context:
        made = Http2Host(context)
        yield made
        made.close()


def asking(script: str, *hosts: str, **changes: object) -> Result:
    return reading(CLIENT + script, reach=inspected(*hosts, **changes), libraries=LIBRARIES)


def test_each_stream_is_judged_and_noted(host: Http2Host) -> None:
    script = """
c = Client(); print(c.protocol)
one, two, three = c.ask("/ok/a"), c.ask("/no"), c.ask("/ok/b", method="DELETE")
for n in (one, two, three): a = c.answer(n); print(a["status"], a["body"].decode().strip())
"""
    result = asking(script, f"GET a.test/ok/**=127.0.0.1:{host.port}")
    no = "it needs a grant of"
    assert said(result) == [
        "h2",
        "200 ",
        f"403 redoma: GET a.test:443/no: {REQUEST_NOT_GRANTED}; {no} GET a.test/no",
        f"403 redoma: DELETE a.test:443/ok/b: {REQUEST_NOT_GRANTED}; {no} DELETE a.test/ok/b",
    ]
    assert host.lines == ["GET /ok/a"]
    assert sorted(requests_of(result)) == [
        ("DELETE", "a.test:443", "/ok/b", 403),
        ("GET", "a.test:443", "/no", 403),
        ("GET", "a.test:443", "/ok/a", 200),
    ]


def test_grpc_streams_in_both_directions_and_has_its_trailers(host: Http2Host) -> None:
    script = """
c = Client(); g = ("content-type", "application/grpc")
n = c.ask("/grpc.Test/Both", g, ("te", "trailers"), method="POST", end=False)
for word in (b"one", b"two"):
    c.send(n, word); before = len(c.got[n]["body"])
    c.until(lambda: len(c.got[n]["body"]) > before)
c.send(n, b"end", end=True); a = c.answer(n); print(a["status"], a["body"], a["trailers"]["grpc-status"])
n = c.ask("/grpc.Test/Denies", g, method="POST"); print(c.answer(n)["head"]["grpc-status"])
n = c.ask("/grpc.Other/Call", g, method="POST"); print(c.answer(n)["head"]["grpc-status"], c.got[n]["head"]["grpc-message"])
"""
    result = asking(script, f"POST a.test/grpc.Test/*=127.0.0.1:{host.port}")
    assert said(result) == [
        "200 b'onetwoend' 0",
        "5",
        f"7 redoma: POST a.test:443/grpc.Other/Call: {REQUEST_NOT_GRANTED};"
        " it needs a grant of POST a.test/grpc.Other/Call",
    ]
    assert host.lines == ["POST /grpc.Test/Both", "POST /grpc.Test/Denies"]


def test_what_names_another_host_or_hides_a_request_is_refused(host: Http2Host) -> None:
    script = """
for more in (dict(authority="b.test"), dict(more=[("host", "b.test")]), dict(authority="a\\u00ad.test"),
             dict(more=[("x", "a\\r\\ny: b")]), dict(path="/ok/a#b"), dict(path="/ok/a b")):
    c = Client(check=False)
    try:
        print(c.answer(c.ask(more.get("path", "/ok/a"), *more.get("more", ()), authority=more.get("authority", "a.test")))["status"])
    except Exception as e:
        print("ended")
c = Client(); n = c.ask("/ok/a", end=False); c.send(n, b"DELETE / HTTP/1.1", end=True); print(c.answer(n)["status"])
"""
    result = asking(script, f"GET a.test/ok/**=127.0.0.1:{host.port}")
    assert set(said(result)) <= {"403", "400", "ended"}
    assert (len(said(result)), host.lines) == (7, [])
    assert set(refusals(result).values()) <= {OTHER_NAME, UNREADABLE, BODY_NOT_READ, ""}


def test_a_credential_is_added_and_never_comes_back(
    host: Http2Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "hunter-22")
    script = """
c = Client(); a = c.answer(c.ask("/echo")); print("authorization: Bearer ****" in a["body"].decode(), a["trailers"]["x-said"][:11])
"""
    credentials = read_all(["a.test=A_TOKEN"], ["a.test"])
    result = asking(script, f"a.test=127.0.0.1:{host.port}", credentials=credentials)
    assert said(result) == ["True Bearer ****"]
    assert host.asked[0]["authorization"] == "Bearer hunter-22"


def test_a_large_answer_comes_whole_over_small_windows(host: Http2Host) -> None:
    script = """
c = Client(); a = c.answer(c.ask("/big")); print(len(a["body"]), a["body"].count(b"x"))
"""
    result = asking(script, f"a.test=127.0.0.1:{host.port}")
    assert said(result) == [f"{3 << 20} {3 << 20}"]


def test_requests_of_different_rules_share_no_connection(host: Http2Host) -> None:
    script = """
c = Client()
for path in ("/a/1", "/b/1", "/a/2", "/b/2"): print(c.answer(c.ask(path))["status"])
"""
    rules = [f"GET a.test/{each}/*=127.0.0.1:{host.port}" for each in "ab"]
    assert said(asking(script, *rules)) == ["200"] * 4
    assert host.connections == 2


def test_http_2_in_the_clear_is_read_on_a_port_granted_by_number() -> None:
    host = Http2Host()
    script = """
c = Client(port=8000, tls=False)
for path in ("/ok/a", "/no"): print(c.answer(c.ask(path, authority="a.test:8000"))["status"])
"""
    result = asking(script, f"GET a.test:8000/ok/**=127.0.0.1:{host.port}")
    host.close()
    assert (said(result), host.lines) == (["200", "403"], ["GET /ok/a"])
