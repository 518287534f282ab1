"""Behind a mock every name is there, every request is answered and noted, and nothing leaves."""

from __future__ import annotations

import hashlib

import pytest

from redoma.model.network import NOT_MOCKED, Connection, MockedAnswer, Reach
from redoma.model.result import Result
from tests.escape.gated import Server, behind_a_gate, refusals, said

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("K5")]

MOCK = Reach(mock=True)
FETCH = """
import urllib.request, urllib.error
def fetch(url, data=None, method=None, **headers):
    asked = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=10) as got:
            print(got.status, got.headers["content-type"], got.read())
    except urllib.error.HTTPError as e:
        print(e.code, e.read())
"""


def calls(result: Result) -> list[tuple[str, str, str, int, str]]:
    assert result.network_calls is not None, result.stderr
    return [(c.kind, c.method, f"{c.target}{c.path}", c.status, c.by) for c in result.network_calls]


def test_requests_are_answered_and_noted_and_nobody_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []

    def never(*name: object, **_: object) -> list[object]:
        asked.append(name)
        raise OSError

    monkeypatch.setattr("redoma.egress.dns.getaddrinfo", never)
    result = behind_a_gate(
        FETCH
        + """
fetch("http://api.example.com/items?token=s3cret&page=2")
fetch("https://api.example.org/items", b'{"a": 1}', Authorization="Bearer s3cret")
fetch("http://203.0.113.7:8080/by/address", method="DELETE")
""",
        reach=MOCK,
    )
    assert said(result) == ["200 application/json b'{\"mocked\": true}\\n'"] * 3
    assert calls(result) == [
        ("http", "GET", "api.example.com:80/items?token=…&page=…", 200, "mock"),
        ("https", "POST", "api.example.org:443/items", 200, "mock"),
        ("http", "DELETE", "203.0.113.7:8080/by/address", 200, "mock"),
    ]
    assert asked == []
    posted: Connection = result.network_calls[1]  # type: ignore[index]
    digest = hashlib.sha256(b'{"a": 1}').hexdigest()
    assert (posted.body_size, posted.body_digest) == (8, f"sha256:{digest}")
    told = dict(posted.headers)
    assert (told["authorization"], told["content-length"]) == ("…", "8")
    assert "s3cret" not in repr(result.network_calls)


def test_a_file_of_mocks_says_what_is_answered() -> None:
    mocks = (
        MockedAnswer(method="POST", host="a.test", path="/v1/*", status=201, body=b"made\n"),
        MockedAnswer(
            host="*.b.test", status=404, headers=(("content-type", "text/x"),), body=b"no"
        ),
        MockedAnswer(status=204, method="DELETE", body=b"is left out"),
    )
    result = behind_a_gate(
        FETCH
        + """
fetch("http://a.test/v1/x", b"x")
fetch("http://a.test/v1/x/y", b"x")
fetch("https://c.b.test/")
fetch("http://other.test/", method="DELETE")
""",
        reach=Reach(mock=True, mocks=mocks),
    )
    assert said(result) == [
        "201 None b'made\\n'",
        "200 application/json b'{\"mocked\": true}\\n'",
        "404 b'no'",
        "204 None b''",
    ]


def test_what_is_no_http_is_closed_and_said_to_be_no_mock() -> None:
    server = Server(greeting=b"SSH-2.0-real\r\n")
    result = behind_a_gate(
        f"""
print(reach("db.test", 5432, b"\\0\\0\\0\\x08\\x04\\xd2\\x16\\x2f"))
s = socket.create_connection(("git.test", 22)); s.settimeout(10)
try:
    print(s.recv(100))
except OSError as e:
    print(type(e).__name__)
print(reach("127.0.0.1", {server.port}))
""",
        reach=MOCK,
    )
    server.close()
    assert set(said(result)) <= {
        "nothing",
        "b''",
        "ConnectionResetError",
        "ConnectionRefusedError",
    }
    assert refusals(result) == {"db.test:5432": NOT_MOCKED, "git.test:22": NOT_MOCKED}
    assert server.accepted == 0


def test_a_large_body_is_measured_and_not_kept() -> None:
    result = behind_a_gate(
        FETCH + 'fetch("http://a.test/", b"x" * 30_000_000, method="PUT")\n', reach=MOCK
    )
    assert result.network_calls is not None
    assert [call.body_size for call in result.network_calls] == [30_000_000]
