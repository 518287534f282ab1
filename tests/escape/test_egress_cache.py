"""Behind the gate a host whose answers are kept is asked once, by whichever run asks first."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.egress.host_rules import read
from redoma.model.result import Result
from redoma.model.value import replace
from tests.escape.gated import Server, behind_a_gate, said
from tests.escape.reading import trusted

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("S13")]

ASK = """
import urllib.request, urllib.error
for url in ("http://api.test/ci", "http://api.test/ci", "http://other.test/ci"):
    try:
        with urllib.request.urlopen(url, timeout=10) as got:
            print(got.status, got.headers["redoma-cache"], got.read())
    except urllib.error.HTTPError as e:
        print(e.code, e.headers["redoma-cache"], e.headers["retry-after"])
"""


def ask(server: Server) -> Result:
    hosts = [f"{name}=127.0.0.1:{server.port}" for name in ("api.test", "other.test")]
    return behind_a_gate(ASK, reach=replace(read(hosts), cache=("api.test",)))


def questions(server: Server) -> int:
    """How often the host whose answers are kept was asked."""
    return sum(b"host: api.test" in heard.lower() for heard in server.heard)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_one_run_was_answered_is_there_for_the_next() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    first, second = ask(server), ask(server)
    server.close()
    assert said(first)[0] == "200 stored b'ok'"
    for line in (said(first)[1], *said(second)[:2]):
        assert line.startswith("200 held; asked ")
    assert said(first)[2] == said(second)[2] == "200 None b'ok'"
    assert questions(server) == 1
    assert second.network_calls is not None
    assert [(c.name, c.by, c.kind, c.times) for c in second.network_calls] == [
        ("api.test", "cache", "http", 2),
        ("other.test", "", "tcp", 1),
    ]


def test_a_host_that_is_too_busy_is_left_alone_by_every_run() -> None:
    server = Server(
        b"HTTP/1.1 429 Slow Down\r\nRetry-After: 600\r\nContent-Length: 0\r\n"
        b"Connection: close\r\n\r\n"
    )
    first, second = ask(server), ask(server)
    server.close()
    assert said(first)[0] == "429 None 600"
    for line in (said(first)[1], *said(second)[:2]):
        assert line.startswith("429 wait ")
    assert questions(server) == 1


def test_what_is_said_inside_tls_is_kept_as_well(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    with trusted(tmp_path / "keys", "api.test") as context:
        server = Server(
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", context=context
        )
        script = ASK.replace("http://api.test", "https://api.test").replace(
            ', "http://other.test/ci"', ""
        )
        rule = f"api.test=127.0.0.1:{server.port}"
        result = behind_a_gate(script, reach=replace(read([rule]), cache=("api.test",)))
        server.close()
    assert said(result)[0] == "200 stored b'ok'"
    assert said(result)[1].startswith("200 held; asked ")
    assert questions(server) == 1
