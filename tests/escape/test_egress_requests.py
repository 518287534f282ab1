"""Requests that hide another one, or another host, reach nobody; whatever they are is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from redoma.egress.credentials import read_all
from redoma.model.network import (
    BODY_NOT_READ,
    HEAD_TOO_LARGE,
    MANY_READINGS,
    OTHER_NAME,
    SMALL_METHOD,
    UNREADABLE,
)
from tests.escape.gated import Server, behind_a_gate, refusals, said
from tests.escape.reading import Host, inspected, reading, requests_of, trusted, trusted_host

pytestmark = pytest.mark.both_users

HIDDEN = "DELETE /admin HTTP/1.1\r\nHost: a.test\r\n\r\n"


class Careless:
    """An HTTP/1.1 server that reads no body, as many do where they expect none."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.tokens: list[str] = []
        self.connections = 0
        careless = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                careless.connections += 1
                super().setup()

            def log_message(self, *_: object) -> None:
                return

            def answer(self) -> None:
                careless.asked.append(self.requestline)
                careless.tokens.append(self.headers.get("authorization", ""))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            do_GET = do_POST = do_DELETE = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port: int = self.server.server_address[1]

    def serve(self) -> None:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def careless(tmp_path: Path) -> Iterator[Careless]:
    with trusted(tmp_path, "a.test") as context:
        made = Careless()
        made.server.socket = context.wrap_socket(
            made.server.socket, server_side=True, do_handshake_on_connect=False
        )
        made.serve()
        yield made
        made.server.shutdown()
        made.server.server_close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with trusted_host(tmp_path, "a.test") as made:
        yield made


@pytest.fixture
def web() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def sends(*requests: str) -> str:
    """A script that sends each of these on one connection, and says what came back of it."""
    return f"""
s = opened("a.test", 443); s.settimeout(3)
for data in {[each.encode("latin-1") for each in requests]!r}:
    try:
        s.sendall(data); time.sleep(0.1); print(s.recv(65536).split(b"\\r\\n")[0].decode())
    except OSError as e:
        print(type(e).__name__)
"""


@pytest.mark.parametrize("framing", ["Content-Length: {size}", "Transfer-Encoding: chunked"])
def test_no_request_hides_in_a_body_that_a_host_ignores(
    careless: Careless, framing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "hunter-22")
    body = HIDDEN if "size" in framing else f"{len(HIDDEN):x}\r\n{HIDDEN}\r\n0\r\n\r\n"
    head = f"Host: a.test\r\n{framing.format(size=len(HIDDEN))}\r\n\r\n{body}"
    plain = "GET /ok/f HTTP/1.1\r\nHost: a.test\r\n\r\n"
    script = sends(f"GET /ok/f HTTP/1.1\r\n{head}") + sends(f"POST /ok/f HTTP/1.1\r\n{head}", plain)
    credentials = read_all(["a.test=A_TOKEN"], ["a.test"])
    rule = f"GET,POST a.test/ok/**=127.0.0.1:{careless.port}"
    result = reading(script, reach=inspected(rule, credentials=credentials))
    assert said(result)[0] == "HTTP/1.1 403 Forbidden"
    assert [line for line in careless.asked if "admin" in line] == []
    assert "a.test:443" in refusals(result)
    assert refusals(result)["a.test:443"] == BODY_NOT_READ


def test_half_a_request_in_a_body_is_never_completed_by_the_next(
    careless: Careless, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "hunter-22")
    half = "DELETE /admin HTTP/1.1\r\nX: "
    first = f"POST /ok/f HTTP/1.1\r\nHost: a.test\r\nContent-Length: {len(half)}\r\n\r\n{half}"
    script = sends(first, "GET /ok/f HTTP/1.1\r\nHost: a.test\r\n\r\n")
    credentials = read_all(["a.test=A_TOKEN"], ["a.test"])
    rule = f"GET,POST a.test/ok/**=127.0.0.1:{careless.port}"
    result = reading(script, reach=inspected(rule, credentials=credentials))
    # A host that hangs up before it has heard all of a body ends the client's connection too.
    assert said(result) in (["HTTP/1.1 200 OK"] * 2, ["HTTP/1.1 200 OK", ""])
    assert careless.asked in (
        ["POST /ok/f HTTP/1.1", "GET /ok/f HTTP/1.1"],
        ["POST /ok/f HTTP/1.1"],
    )
    assert careless.connections == len(careless.asked)


def test_requests_of_different_rules_share_no_connection_to_their_host(careless: Careless) -> None:
    pin = f"=127.0.0.1:{careless.port}"
    asks = [f"GET /{each} HTTP/1.1\r\nHost: a.test\r\n\r\n" for each in ("a/1", "a/2", "b/1")]
    result = reading(sends(*asks), f"GET a.test/a/*{pin}", f"GET a.test/b/*{pin}")
    assert (said(result), careless.connections) == (["HTTP/1.1 200 OK"] * 3, 2)


def test_a_plain_connection_is_over_after_a_body_that_its_host_may_have_ignored() -> None:
    server = Careless()
    server.serve()
    other = "GET /there HTTP/1.1\r\nHost: other.test\r\n\r\n"
    data = f"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {len(other)}\r\n\r\n{other}"
    result = behind_a_gate(
        f"print(reach('a.test', 80, {data.encode()!r})[:20])", f"a.test=127.0.0.1:{server.port}"
    )
    server.server.shutdown()
    server.server.server_close()
    assert (said(result), server.asked) == (["got b'HTTP/1.1 200 O"], ["POST / HTTP/1.1"])


@pytest.mark.parametrize(
    "name",
    ["a\u00ad.test", "ª.test", "a.test\u00a0", "ａ.test", "a。test", "a\u200b.test"],
)
def test_a_name_that_only_normalises_to_the_granted_one_is_another(host: Host, name: str) -> None:
    data = f"GET /echo HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()
    script = f"""
s = opened("a.test", 443); s.settimeout(5); s.sendall({data!r}); print(s.recv(100)[:12])
"""
    result = reading(script, f"a.test=127.0.0.1:{host.port}")
    assert (said(result), host.lines) == (["b'HTTP/1.1 403'"], [])
    assert refusals(result) == {"a.test:443": OTHER_NAME}


@pytest.mark.parametrize("name", ["A.TEST", "a.test.", "a.test:443", "a.test:"])
def test_the_gate_writes_the_name_of_the_host_itself(host: Host, name: str) -> None:
    script = sends(f"GET /echo HTTP/1.1\r\nHost: {name}\r\n\r\n")
    result = reading(script, f"a.test=127.0.0.1:{host.port}")
    assert said(result) == ["HTTP/1.1 200 OK"]
    assert [each.headers["host"] for each in host.asked] in (["a.test"], ["a.test:443"])


@pytest.mark.parametrize(
    "line",
    [
        "GET /secret HTTP/1.1" + " " * 12,
        "GET /secret  HTTP/1.1",
        "GET\t/secret HTTP/1.1",
        "get /secret HTTP/1.1 ",
        " GET /secret HTTP/1.1",
        "GET /secret HTTP/1.1 x",
        "GET /secret http/1.1",
        "GET /secret",
        "G-T secret HTTP/1.1   ",
        "GET /" + "a" * 20_000 + " HTTP/1.1" + " " * 20,
        "\x0bGET secret HTTP/1.1",
    ],
    ids=lambda line: repr(line)[:30],
)
def test_no_spelling_of_a_request_is_taken_for_another_protocol(line: str) -> None:
    server = Server()
    data = f"{line}\r\nHost: a.test:7000\r\n\r\n".encode()
    script = f"print(reach('a.test', 7000, {data!r})[:20])"
    result = reading(script, f"a.test:7000=127.0.0.1:{server.port}")
    server.close()
    assert server.heard == []
    assert set(refusals(result).values()) == {UNREADABLE}


@pytest.mark.parametrize("first", ["x", "A", "HELO", "USER me", "0032git-upload-pack /p\0h=a\0"])
def test_a_word_without_an_end_passes_on_a_port_granted_by_number(web: Server, first: str) -> None:
    script = f"print(reach('a.test', 7000, {first.encode()!r})[:20])"
    result = reading(script, f"a.test:7000=127.0.0.1:{web.port}")
    assert said(result) == ["got b'HTTP/1.1 200 O"] or refusals(result) != {}
    assert b"".join(web.heard) == first.encode()


def test_a_request_that_comes_letter_by_letter_is_still_one() -> None:
    server = Careless()
    server.serve()
    script = """
for name in ("a.test:7000", "b.test"):
    s = socket.create_connection(("a.test", 7000)); s.settimeout(5)
    for letter in f"GET /{name[0]} HTTP/1.1\\r\\nHost: {name}\\r\\n\\r\\n":
        s.send(letter.encode()); time.sleep(0.002 if letter != "G" else 0.2)
    print(s.recv(100)[:12])
"""
    result = reading(script, f"a.test:7000=127.0.0.1:{server.port}")
    server.server.shutdown()
    server.server.server_close()
    assert said(result) == ["b'HTTP/1.1 200'", "b'HTTP/1.1 403'"]
    assert refusals(result) == {"a.test:7000": OTHER_NAME}
    assert server.asked == ["GET /a HTTP/1.1"]


PATHS = (
    "/ok/..%3f /ok%3f/x /ok/..%23x /ok/a%0a /ok/..%20/admin /ok/%20../admin /ok/.%20./admin"
    " /ok/%ef%bc%8e%ef%bc%8e/admin /ok/%ef%bc%8e%ef%bc%8e%ef%bc%8fadmin /ok/..;/admin"
    " /ok/..;a=b/admin /ok/..%5cadmin /ok/..\\admin /ok/%252e%252e/admin /ok/%25252e%25252e/admin"
    " /ok/../admin /ok/%2e%2e/admin /ok//../../admin /ok/..%2fadmin /ok/%u002e%u002e/admin"
    " /ok/..%c0%afadmin /ok/a%00 /ok/.../admin /ok/..%09/admin /ok/.%c2%ad./admin"
    " /ok/%c4%ae%c4%ae/admin /ok/..%e2%88%95admin /ok/..%e3%80%82 /OK/../ok/../admin"
).split()


def test_no_reading_of_a_path_leads_out_of_what_is_granted(host: Host) -> None:
    script = f"""
for path in {PATHS!r}:
    s = opened("a.test", 443); s.settimeout(5)
    s.sendall(b"GET " + path.encode() + b" HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n")
    print(s.recv(100)[9:12].decode()); s.close()
for path in ("/ok/a", "/ok/@scope%2fname", "/ok/caf%c3%a9", "/ok/a%20b.txt", "/ok/v1.2.3", "/ok/%e6%97%a5"):
    print(get("https://a.test" + path)[0])
"""
    result = reading(script, f"GET a.test/ok/**=127.0.0.1:{host.port}")
    answers = said(result)
    assert dict(zip(PATHS, answers, strict=False)) == dict.fromkeys(PATHS, "403")
    assert answers[len(PATHS) :] == ["200"] * 6
    assert len(host.asked) == 6
    assert MANY_READINGS in {call.why for call in result.network_calls or ()}


def test_a_small_method_is_told_how_rules_are_written(host: Host) -> None:
    script = sends("get /ok/a HTTP/1.1\r\nHost: a.test\r\n\r\n")
    result = reading(script, f"GET a.test/ok/*=127.0.0.1:{host.port}")
    assert (said(result), host.lines) == (["HTTP/1.1 403 Forbidden"], [])
    assert refusals(result) == {"a.test:443": SMALL_METHOD}


@pytest.mark.parametrize(
    ("data", "status", "why"),
    [
        ("GET / HTTP/1.1\nHost: a.test\n\n", "400 Bad Request", UNREADABLE),
        ("GET / HTTP/1.1\r\nHost: a.test\n\r\n", "400 Bad Request", UNREADABLE),
        (
            f"GET / HTTP/1.1\r\nHost: a.test\r\nX: {'y' * 70_000}\r\n\r\n",
            "431 Request Header Fields Too Large",
            HEAD_TOO_LARGE,
        ),
    ],
    ids=["bare line feeds", "one of them", "70 KB"],
)
@pytest.mark.parametrize("how", ["plain", "inspected"])
def test_what_cannot_be_read_is_answered_and_told(
    web: Server, data: str, status: str, why: str, how: str
) -> None:
    script = f"""
began = time.monotonic(); print(reach("a.test", 80, {data.encode()!r})[6:80].partition("\\\\r")[0], time.monotonic() - began < 3)
"""
    rule = f"a.test=127.0.0.1:{web.port}"
    result = (
        behind_a_gate(script, reach=inspected(rule))
        if how == "inspected"
        else behind_a_gate(script, rule)
    )
    assert (said(result), web.heard) == ([f"HTTP/1.1 {status} True"], [])
    assert refusals(result) == {"a.test:80": why}


@pytest.mark.parametrize("rule", ["a.test", "GET a.test/chat"])
def test_a_websocket_begins_although_its_answer_comes_in_pieces(rule: str) -> None:
    import socket

    listens = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listens.accept()
        client.recv(65536)
        for piece in (b"HTTP/1.", b"1 101 Switching", b" Protocols\r\nUpgrade: websocket\r\n"):
            client.sendall(piece)
            time.sleep(0.05)
        client.sendall(b"Connection: Upgrade\r\n\r\n\x81\x02hi")
        client.sendall(b"\x81" + client.recv(100))
        client.close()

    threading.Thread(target=serve, daemon=True).start()
    script = """
s = socket.create_connection(("a.test", 80)); s.settimeout(5)
s.sendall(b"GET /chat HTTP/1.1\\r\\nHost: a.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n")
got = b""
while not got.endswith(b"hi"): got += s.recv(100)
s.sendall(b"more"); print(got.split(b" ")[1], got[-4:], s.recv(100))
"""
    pinned = f"{rule}=127.0.0.1:{listens.getsockname()[1]}"
    by_request = " " in rule
    result = reading(script, pinned) if by_request else behind_a_gate(script, pinned)
    listens.close()
    assert said(result) == [f"b'101' {bytes([0x81, 2]) + b'hi'!r} {bytes([0x81]) + b'more'!r}"]


def test_a_head_that_never_ends_is_not_waited_for(
    web: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redoma.egress.downstream.HEAD_SECONDS", 1.0)
    script = """
s = socket.create_connection(("a.test", 80)); s.settimeout(8); s.send(b"GET / HTTP/1.1\\r\\n")
began = time.monotonic()
try: s.recv(10)
except OSError: pass
print(time.monotonic() - began < 5)
"""
    assert said(behind_a_gate(script, f"a.test=127.0.0.1:{web.port}")) == ["True"]


def test_requests_noted_are_those_that_arrived(host: Host) -> None:
    script = sends(*(f"GET /{n} HTTP/1.1\r\nHost: a.test\r\n\r\n" for n in range(3)))
    result = reading(script, f"a.test=127.0.0.1:{host.port}")
    assert [path for _, _, path, _ in requests_of(result)] == ["/0", "/1", "/2"]
    assert host.lines == [f"GET /{n} HTTP/1.1" for n in range(3)]
