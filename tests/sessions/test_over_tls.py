"""A server for others speaks TLS alone; a person's own terminal becomes the host's view by it."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.sessions.own_terminal import OwnTerminal
from tests.sessions.server_process import PATIENCE, ServerProcess

pytestmark = pytest.mark.both_users


@pytest.fixture(scope="module")
def tls_server() -> Iterator[ServerProcess]:
    process = ServerProcess("--self-signed", "--grace", "60s")
    yield process
    process.stop()


@pytest.mark.requirement("S9")
def test_a_guest_who_pins_the_printed_certificate_comes_in_by_tls(
    tls_server: ServerProcess,
) -> None:
    # The fingerprint that was printed is that of the certificate that is served: `_pinned` looks.
    assert len(tls_server.about["fingerprint"].split(":")) == 32
    assert tls_server.about["link"].startswith("https://")
    session = tls_server.start()
    ana = session.admitted()
    session.host.type(b"echo by-tls-$((40+2))\r")
    ana.until(lambda: b"by-tls-42" in ana.screen)
    session.end()


def test_plain_http_is_answered_nothing_and_an_unknown_certificate_is_not_taken(
    tls_server: ServerProcess,
) -> None:
    where = urlsplit(tls_server.url)
    assert where.hostname is not None
    plain = http.client.HTTPConnection(where.hostname, where.port, timeout=PATIENCE)
    with pytest.raises((http.client.HTTPException, OSError)):
        plain.request("GET", "/")
        plain.getresponse()
    plain.close()
    careful = http.client.HTTPSConnection(
        where.hostname, where.port, timeout=PATIENCE, context=ssl.create_default_context()
    )
    with pytest.raises(ssl.SSLCertVerificationError):
        careful.request("GET", "/")
    careful.close()
    assert tls_server.request("GET", "/", bearer=None)[0] == 200


def test_a_key_that_others_could_read_is_nowhere(tls_server: ServerProcess) -> None:
    place = f"{tls_server.place}/state/redoma/serve"
    assert sorted(name.rpartition(".")[2] for name in os.listdir(place)) == ["crt", "key"]
    for name in os.listdir(place):
        assert os.stat(f"{place}/{name}").st_mode & 0o077 == 0


@pytest.mark.requirement("S6")
def test_ones_own_terminal_shows_the_session_types_and_leaves_it_running(
    tls_server: ServerProcess,
) -> None:
    session = tls_server.start()
    session.host.type(b"echo before-$((40+2))\r")
    session.host.until(lambda: b"before-42" in session.host.screen)
    argv = [sys.executable, "-m", "redoma", "session", "attach", session.id]
    terminal = OwnTerminal(argv, tls_server.env, 100, 30)
    try:
        terminal.until(lambda: b"before-42" in terminal.screen)
        session.host.until(lambda: (100, 30) in session.host.sizes)
        terminal.type(b"echo typed-$((40+2))-$COLUMNS-$LINES\r")
        terminal.until(lambda: b"typed-42-100-30" in terminal.screen)
        session.host.until(lambda: b"typed-42-100-30" in session.host.screen)
        terminal.resize(90, 20)
        terminal.process.send_signal(signal.SIGWINCH)
        session.host.until(lambda: (90, 20) in session.host.sizes)
        assert not terminal.is_as_before()  # every key is the session's: Ctrl-C as well
        terminal.type(b"sleep 1000\r")
        terminal.until(lambda: b"sleep 1000\r\n" in terminal.screen)
        terminal.type(b"\x03")
        terminal.until(lambda: b"^C" in terminal.screen)
        terminal.type(b"\x1d")
        terminal.until(lambda: terminal.process.poll() is not None)
        assert terminal.process.returncode == 0
        assert terminal.is_as_before()
    finally:
        terminal.close()
    assert tls_server.ask("GET", session.path)["state"] == "running"
    session.host.type(b"echo goes-on-$((40+2))\r")
    session.host.until(lambda: b"goes-on-42" in session.host.screen)
    session.end()


def test_a_terminal_that_is_attached_ends_with_its_session_and_says_its_status(
    tls_server: ServerProcess,
) -> None:
    session = tls_server.start()
    argv = [sys.executable, "-m", "redoma", "session", "attach", session.id]
    terminal = OwnTerminal(argv, tls_server.env, 80, 24)
    try:
        terminal.until(lambda: b"(redoma)" in terminal.screen)
        terminal.type(b"exit 7\r")
        terminal.until(lambda: terminal.process.poll() is not None)
        assert terminal.process.returncode == 7
        assert terminal.is_as_before()
    finally:
        terminal.close()
    session.host.close()
