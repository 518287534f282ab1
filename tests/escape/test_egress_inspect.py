"""A gate that reads requests: ordinary clients work, each request is noted, and no other passes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.model.network import (
    HTTP_2,
    NOT_HTTP,
    NOT_TRUSTED,
    OTHER_NAME,
    TUNNEL,
    UNREADABLE,
)
from tests.escape.gated import refusals, said
from tests.escape.reading import (
    Host,
    inspected,
    reading,
    requests_of,
    spoken_first,
    trusted_host,
)

pytestmark = pytest.mark.both_users


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """`a.test` over TLS."""
    with trusted_host(tmp_path, "a.test") as made:
        yield made


def at(host: Host) -> str:
    return f"a.test:443=127.0.0.1:{host.port}"


def test_every_request_is_noted_and_answered_as_the_host_answers(host: Host) -> None:
    plain = Host()
    script = """
print(get("http://a.test/one?token=abc&page=2"))
print(get("https://a.test/two"))
print(get("https://a.test/chunked"), get("https://a.test/until-it-ends"))
print(len(get("https://a.test/big")[1]), get("https://a.test/unchanged"), get("https://a.test/empty"))
print(len(urllib.request.urlopen("https://a.test/post", data=b"d" * 300_000).read()))
"""
    result = reading(script, at(host), f"a.test:80=127.0.0.1:{plain.port}")
    plain.close()
    assert said(result) == [
        "(200, 'GET /one?token=abc&page=2')",
        "(200, 'GET /two')",
        "(200, 'one two three') (200, 'all of it')",
        "4194304 (304, '') (204, '')",
        "300000",
    ]
    assert requests_of(result) == [
        ("GET", "a.test:80", "/one?token=…&page=…", 200),
        ("GET", "a.test:443", "/two", 200),
        ("GET", "a.test:443", "/chunked", 200),
        ("GET", "a.test:443", "/until-it-ends", 200),
        ("GET", "a.test:443", "/big", 200),
        ("GET", "a.test:443", "/unchanged", 304),
        ("GET", "a.test:443", "/empty", 204),
        ("POST", "a.test:443", "/post", 200),
    ]
    assert result.network_calls is not None
    big = result.network_calls[4]
    assert big.received > 4 << 20
    assert (big.rule, big.program, big.address) == (at(host), "python3", "127.0.0.1")


@pytest.mark.parametrize("engine", ["forkserver", "bubblewrap"])
def test_every_engine_lays_the_certificates_over_its_own(host: Host, engine: str) -> None:
    script = """
c = ssl.create_default_context(cafile="/etc/ssl/certs/ca-certificates.crt")
raw = socket.create_connection(("a.test", 443), timeout=10)
s = c.wrap_socket(raw, server_hostname="a.test")
print(get("https://a.test/x"), status(said(s, b"GET /y HTTP/1.0\\r\\nHost: a.test\\r\\n\\r\\n"))[1])
"""
    if not Path("/etc/ssl/certs/ca-certificates.crt").exists():
        pytest.skip("this machine keeps its certificates elsewhere")
    result = reading(script, at(host), engine=engine)
    assert said(result) == ["(200, 'GET /x') GET /y"]


def test_requests_on_one_connection_are_noted_each_by_itself(host: Host) -> None:
    script = """
s = opened("a.test", 443)
r = lambda p, m="GET", x="": f"{m} {p} HTTP/1.1\\r\\nHost: a.test\\r\\n{x}\\r\\n".encode()
print(status(said(s, r("/1") + r("/2", "HEAD") + b"\\r\\n" + r("/3", x="Connection: close\\r\\n")))[0])
"""
    result = reading(script, at(host))
    assert said(result) == ["HTTP/1.1 200 OK"]
    assert host.lines == ["GET /1 HTTP/1.1", "HEAD /2 HTTP/1.1", "GET /3 HTTP/1.1"]
    assert [each[2] for each in requests_of(result)] == ["/1", "/2", "/3"]


def test_no_byte_is_lost_while_it_is_found_out_who_speaks_first(host: Host) -> None:
    # What TLS itself says after a handshake comes at the same time as the client's first words.
    script = """
print([get("https://a.test/x")[0] for _ in range(60)] == [200] * 60)
"""
    assert said(reading(script, at(host))) == ["True"]


def test_chunks_and_leave_to_send_pass(host: Host) -> None:
    script = """
s = opened("a.test", 443)
head = b"POST /x HTTP/1.1\\r\\nHost: a.test\\r\\nConnection: close\\r\\nExpect: 100-continue\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
s.sendall(head); print(s.recv(1000))
print(status(said(s, b"3\\r\\nabc\\r\\n4;x=y\\r\\ndefg\\r\\n0\\r\\n\\r\\n")))
"""
    result = reading(script, at(host))
    assert said(result) == ["b'HTTP/1.1 100 \\r\\n\\r\\n'", "('HTTP/1.1 200 OK', 'abcdefg')"]
    assert [each.body for each in host.asked] == [b"abcdefg"]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", OTHER_NAME),
        ("GET https://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", OTHER_NAME),
        ("GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", UNREADABLE),
        ("GET / HTTP/1.1\r\nHost: a.test\r\n folded: x\r\n\r\n", UNREADABLE),
        ("GET / HTTP/1.1\nHost: a.test\n\n\r\n\r\n", UNREADABLE),
        (
            "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: a.test\r\n\r\n",
            UNREADABLE,
        ),
        ("CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n", TUNNEL),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP_2),
        ("EHLO there\r\n", NOT_HTTP),
    ],
)
def test_what_is_no_plain_request_to_this_host_never_reaches_it(
    host: Host, request_: str, why: str
) -> None:
    script = f"""
print(status(said(opened("a.test", 443), {request_.encode()!r}))[0])
"""
    result = reading(script, f"a.test=127.0.0.1:{host.port}")
    answers = {UNREADABLE: "HTTP/1.1 400 Bad Request"}
    assert said(result) in ([answers.get(why, "HTTP/1.1 403 Forbidden")], [""])
    assert host.lines == []
    assert set(refusals(result).values()) == {why}


def test_an_upgrade_to_http_2_is_not_passed_on(host: Host) -> None:
    script = """
more = "Connection: Upgrade, HTTP2-Settings, close\\r\\nUpgrade: h2c\\r\\nHTTP2-Settings: AAMA\\r\\n"
print(status(said(opened("a.test", 443), f"GET /x HTTP/1.1\\r\\nHost: a.test\\r\\n{more}\\r\\n".encode())))
"""
    assert said(reading(script, at(host))) == ["('HTTP/1.1 200 OK', 'GET /x')"]
    assert {"upgrade", "http2-settings"}.isdisjoint(host.asked[0].headers)


def test_a_program_with_roots_of_its_own_is_told_of(host: Host) -> None:
    script = """
open("own.pem", "w").write(open("/etc/ssl/certs/ca-certificates.crt").read().partition("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\\n")
c = ssl.create_default_context(cafile="own.pem")
try:
    c.wrap_socket(socket.create_connection(("a.test", 443)), server_hostname="a.test")
except ssl.SSLCertVerificationError:
    print("not trusted")
"""
    if not Path("/etc/ssl/certs/ca-certificates.crt").exists():
        pytest.skip("this machine keeps its certificates elsewhere")
    result = reading(script, f"a.test=127.0.0.1:{host.port}")
    assert (said(result), refusals(result)) == (["not trusted"], {"a.test:443": NOT_TRUSTED})


def test_a_host_whose_certificate_is_not_trusted_is_not_asked(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    result = reading('print(get("https://a.test/x"))', at(host))
    why = "the host's certificate cannot be trusted: self-signed certificate"
    assert said(result) == [f"(502, {f'redoma: GET a.test:443/x: {why}' + chr(10)!r})"]
    assert (host.lines, refusals(result)) == ([], {"a.test:443": why})


def test_a_certificate_of_another_host_is_not_trusted(host: Host) -> None:
    result = reading('print(get("https://b.test/x")[0])', f"b.test=127.0.0.1:{host.port}")
    assert (said(result), host.lines) == (["502"], [])
    assert "Hostname mismatch" in refusals(result)["b.test:443"]


def test_another_name_in_the_hello_is_refused(host: Host) -> None:
    script = """
c = ssl._create_unverified_context()
try:
    c.wrap_socket(socket.create_connection(("a.test", 443)), server_hostname="b.test")
except OSError as e:
    print(type(e).__name__)
"""
    result = reading(script, at(host))
    assert (said(result), refusals(result)) == (["SSLError"], {"a.test:443": OTHER_NAME})


def test_on_a_port_granted_by_number_a_host_may_speak_first() -> None:
    listens, port = spoken_first(b"hello\r\n")
    script = """
s = socket.create_connection(("mail.test", 25), timeout=5)
print(s.recv(100)); s.sendall(b"EHLO x\\r\\n"); print(s.recv(100))
"""
    result = reading(script, f"mail.test:25=127.0.0.1:{port}")
    listens.close()
    assert said(result) == ["b'hello\\r\\n'", "b'EHLO x\\r\\n'"]
    assert result.network_calls is not None
    assert [(c.kind, c.target, c.allowed) for c in result.network_calls] == [
        ("tcp", "mail.test:25", True)
    ]


def test_nothing_is_left_of_a_gate_that_reads() -> None:
    listens, port = spoken_first(b"")
    script = """
kept = [opened("a.test", 443) for _ in range(5)]
s = socket.create_connection(("b.test", 7)); s.send(b"x"); s.recv(1)
"""
    rules = ("a.test=127.0.0.1:1", f"b.test:7=127.0.0.1:{port}")
    reading(script, *rules)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        reading(script, *rules)
    after = len(os.listdir("/proc/self/fd"))
    listens.close()
    assert after == before


def test_no_more_bytes_than_granted_are_read(host: Host) -> None:
    script = """
try:
    print(len(get("https://a.test/big")[1]))
except Exception as e:
    print(type(e).__name__)
"""
    result = reading(script, reach=inspected(at(host), max_bytes=1 << 20))
    assert said(result) == ["IncompleteRead"]
    assert refusals(result) == {"a.test:443": "more bytes than are granted"}
