"""Behind a gate a name leads to whom it was granted for, and says nothing to anybody else."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.egress.hosts import is_public
from redoma.model.network import NO_NAME, NOT_GRANTED, NOT_PUBLIC, OTHER_NAME, UNREADABLE
from tests.escape.gated import Server, behind_a_gate, certificate, refusals, said

pytestmark = pytest.mark.both_users


@pytest.fixture
def web() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def secure() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as place:
        server = Server(context=certificate(Path(place), "a.test"))
        yield server
        server.close()


def test_a_name_that_was_not_granted_does_not_exist() -> None:
    result = behind_a_gate(
        """
for name in ("evil.test", "a.test.evil.test", "xa.test", "test", "kfzwg4tfoq.evil.test"):
    print(ask(name)[:2], ask(name, kind=28)[:2], ask(name, kind=16)[:2], ask(name, tcp=True)[:2])
""",
        "a.test=127.0.0.1",
    )
    assert said(result) == ["(3, 0) (3, 0) (3, 0) (3, 0)"] * 5
    told = refusals(result)
    assert told["evil.test"] == told["kfzwg4tfoq.evil.test"] == NOT_GRANTED


def test_a_granted_name_says_only_where_the_gate_is() -> None:
    result = behind_a_gate(
        """
code, count, answer = ask("a.test")
print(code, count, socket.inet_ntoa(answer[-4:]), ask("a.test", kind=16)[:2], ask("a.test", kind=65)[:2])
print(ask("a.test", tcp=True)[:2], ask("A.TEST", server="127.0.0.53")[:2])
""",
        "a.test=127.0.0.1",
    )
    assert said(result) == ["0 1 198.18.0.16 (0, 0) (0, 0)", "(0, 1) (0, 1)"]


def test_questions_that_nobody_would_ask_are_not_answered_with_anything() -> None:
    result = behind_a_gate(
        """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("192.0.2.53", 53))
for data in (b"", b"\\0" * 12, b"x" * 600, b"\\xff" * 12, b"\\0\\7\\1\\0\\0\\1" + b"\\0" * 6 + b"\\xc0\\x0c\\0\\1\\0\\1"):
    s.send(data)
print(ask("a.test")[:2])
""",
        "a.test=127.0.0.1",
    )
    assert said(result) == ["(0, 1)"]


def test_a_name_that_leads_into_the_machines_own_network_is_refused() -> None:
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        pytest.skip("this machine's own name has no address")
    if is_public(address):
        pytest.skip("this machine's own name has a public address")
    decoy = Server(host="0.0.0.0")
    result = behind_a_gate(f'print(ask("{name}")[:2])', f"{name}:{decoy.port}")
    decoy.close()
    assert (said(result), decoy.accepted) == (["(3, 0)"], 0)
    assert refusals(result) == {name.lower(): NOT_PUBLIC}


@pytest.mark.parametrize("engine", ["forkserver", "bubblewrap"])
def test_what_the_machine_knows_by_itself_is_asked_for_at_the_gate(engine: str) -> None:
    """A name in the machine's own list of hosts leads to no address that is not the gate's."""
    result = behind_a_gate(
        """
lines = [line.split() for line in open("/etc/hosts")]
print(sorted({line[0] for line in lines}))
""",
        engine=engine,
    )
    assert said(result) == ["['127.0.0.1', '127.0.1.1', '::1']"]


def test_another_host_named_in_a_request_is_refused(web: Server) -> None:
    result = behind_a_gate(
        """
def request(host): return f"GET / HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode()
s = socket.create_connection(("a.test", 80)); s.settimeout(5)
s.send(request("a.test")); print(s.recv(100)[:15])
s.send(request("evil.test"))
try:
    print(s.recv(100)[:12])
except OSError as e:
    print(type(e).__name__)
print(reach("a.test", 80, request("evil.test"))[5:18], reach("a.test", 80, b"CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n")[5:18])
""",
        f"a.test=127.0.0.1:{web.port}",
    )
    assert said(result) == [
        "b'HTTP/1.1 200 OK'",
        "b'HTTP/1.1 403'",
        "'HTTP/1.1 403 'HTTP/1.1 403",
    ]
    assert b"evil" not in b"".join(web.heard)
    assert set(refusals(result).values()) == {OTHER_NAME}


def test_another_host_named_in_tls_is_refused(secure: Server) -> None:
    result = behind_a_gate(
        """
context = ssl._create_unverified_context()
for name in ("a.test", "evil.test", None):
    try:
        s = context.wrap_socket(socket.create_connection(("a.test", 443)), server_hostname=name)
        s.send(b"GET / HTTP/1.1\\r\\n\\r\\n"); print(s.recv(100)[:15])
    except (ssl.SSLError, OSError) as e:
        print(getattr(e, "reason", type(e).__name__))
""",
        f"a.test=127.0.0.1:{secure.port}",
    )
    refused = "TLSV1_UNRECOGNIZED_NAME"
    assert said(result) == ["b'HTTP/1.1 200 OK'", refused, refused]
    assert len(secure.heard) == 1
    assert refusals(result) == {"a.test:443": NO_NAME} or OTHER_NAME in refusals(result).values()


def test_what_is_neither_tls_nor_http_does_not_pass_on_a_port_of_the_web(web: Server) -> None:
    result = behind_a_gate(
        """
print(reach("a.test", 443, b"SSH-2.0-x\\r\\n"), reach("a.test", 80, b"\\0\\1\\2\\3"))
print(reach("a.test", 80, b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n"))
""",
        f"a.test=127.0.0.1:{web.port}",
    )
    assert all("200" not in line for line in said(result))
    assert (web.heard, set(refusals(result).values())) == ([], {UNREADABLE})


def test_a_redirect_to_a_host_that_was_not_granted_leads_nowhere() -> None:
    server = Server(
        b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n\r\n"
    )
    result = behind_a_gate(
        """
import urllib.request
try:
    urllib.request.urlopen("http://a.test/"); print("reached")
except OSError as e:
    print(str(e))
""",
        f"a.test=127.0.0.1:{server.port}",
    )
    server.close()
    assert said(result) == ["<urlopen error [Errno -2] Name or service not known>"]
    assert refusals(result) == {"evil.test": NOT_GRANTED}


def test_the_way_a_name_once_led_is_for_that_name_alone(web: Server) -> None:
    """An address that stands for one host is not a way to another by saying so."""
    result = behind_a_gate(
        """
place = socket.gethostbyname("a.test")
print(reach(place, 80, b"GET / HTTP/1.1\\r\\nHost: b.test\\r\\n\\r\\n")[5:18])
""",
        f"a.test=127.0.0.1:{web.port}",
        f"b.test=127.0.0.1:{web.port}",
    )
    assert (said(result), web.heard) == (["'HTTP/1.1 403"], [])
