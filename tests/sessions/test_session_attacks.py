"""Attacks on a shared session over the network; none passes."""

from __future__ import annotations

import json
import random
import struct
import time

import pytest
import websockets.sync.client as ws
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.sessions.server_process import Connection, ServerProcess

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("S1")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_a_page_of_somebody_else_is_not_heard(
    server: ServerProcess, headers: dict[str, str]
) -> None:
    assert server.request("GET", "/api/sessions", headers=headers)[0] == 403
    assert server.request("POST", "/api/sessions", {}, headers=headers)[0] == 403
    assert server.request("GET", "/", headers=headers, bearer=None)[0] == 403


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}])
def test_a_foreign_page_opens_no_channel(server: ServerProcess, headers: dict[str, str]) -> None:
    session = server.start()
    with pytest.raises(InvalidStatus) as refused:
        ws.connect(
            server.url.replace("http", "ws") + f"{session.path}/channel", additional_headers=headers
        )
    assert refused.value.response.status_code == 403
    session.end()


def test_no_request_counts_that_a_form_could_send(server: ServerProcess) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        status, _ = server.request(
            "POST", "/api/sessions", b'{"cwd": "/"}', headers={"Content-Type": kind}
        )
        assert status == 400
    assert server.request("POST", "/api/sessions", {}, bearer=None)[0] == 401
    assert server.request("GET", "/api/sessions", headers={"Cookie": "a=b"}, bearer=None)[0] == 401


def test_a_login_link_logs_in_once_and_nobody_chooses_a_bearer(server: ServerProcess) -> None:
    assert server.request("POST", "/api/login", {"token": server.token}, bearer=None)[0] == 401
    assert server.request("GET", "/api/me", bearer="chosen-by-an-attacker")[0] == 401
    link = server.ask("POST", "/api/login-link", {})["link"]
    token = link.partition("#login=")[2]
    made = server.ask("POST", "/api/login", {"token": token}, bearer="fixed")["bearer"]
    assert made not in ("fixed", server.bearer)


def test_a_guest_has_no_right_of_the_host(server: ServerProcess) -> None:
    session, other = server.start(), server.start()
    ana = session.admitted()
    path = f"{session.path}/guests/{ana.guest}"
    for method, where, body in (
        ("GET", "/api/sessions", None),
        ("POST", "/api/sessions", {}),
        ("GET", session.path, None),
        ("DELETE", session.path, None),
        ("POST", f"{session.path}/code", {}),
        ("POST", f"{path}/admit", {}),
        ("PUT", f"{path}/permission", {"permission": "read_write"}),
        ("GET", f"{session.path}/audit", None),
        ("GET", f"{session.path}/recording", None),
        ("POST", f"{other.path}/ticket", {}),
        ("POST", "/api/login-link", {}),
    ):
        assert server.request(method, where, body, bearer=ana.bearer)[0] == 403, where
    session.end()
    assert server.request("POST", f"{session.path}/ticket", {}, bearer=ana.bearer)[0] == 401
    other.end()


@pytest.mark.requirement("S8")
def test_codes_and_tickets_are_good_once(server: ServerProcess) -> None:
    session = server.start()
    code = session.code()
    assert server.request("POST", "/api/join", {"code": code, "name": "A"}, bearer=None)[0] == 200
    assert server.request("POST", "/api/join", {"code": code, "name": "B"}, bearer=None)[0] == 403
    ana = session.admitted()
    again = ws.connect(server.url.replace("http", "ws") + f"{session.path}/channel")
    again.send(json.dumps({"ticket": ana.ticket, "protocol": 1}))
    with pytest.raises(ConnectionClosed) as refused:
        again.recv(timeout=30)
    assert refused.value.rcvd is not None
    assert refused.value.rcvd.code == 4401
    other = server.start()
    ticket = server.ask("POST", f"{other.path}/ticket", {})["ticket"]
    wrong = ws.connect(server.url.replace("http", "ws") + f"{session.path}/channel")
    wrong.send(json.dumps({"ticket": ticket, "protocol": 1}))
    with pytest.raises(ConnectionClosed):
        wrong.recv(timeout=30)
    session.end()
    other.end()


@pytest.mark.requirement("S8")
def test_guessing_codes_does_not_shut_out_the_real_guest() -> None:
    server = ServerProcess()
    try:
        session = server.start()
        code = session.code()
        seen = {
            server.request("POST", "/api/join", {"code": f"0000-{n:04}"}, bearer=None)[0]
            for n in range(60)
        }
        assert seen == {403, 429}
        forged = {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
        assert (
            server.request("POST", "/api/join", {"code": "x"}, bearer=None, headers=forged)[0]
            == 429
        )
        joined = {"code": code, "name": "Ana"}
        assert server.request("POST", "/api/join", joined, bearer=None)[0] == 200
        session.end()
    finally:
        server.stop()


@pytest.mark.requirement("S7")
def test_of_ten_thousand_bytes_in_flight_none_is_typed_after_a_revocation(
    server: ServerProcess,
) -> None:
    session = server.start()
    ana = session.admitted()
    session.permit(ana, "read_write")
    session.host.type(b"stty -echo -icanon; cat >/dev/null & cat\r")
    session.host.until(lambda: b"cat\r\n" in session.host.screen)
    for _ in range(100):
        ana.type(b"a" * 100)
    session.permit(ana, "read_only")
    for _ in range(100):
        ana.type(b"Z" * 100)
    session.host.type(b"--mark--")
    session.host.until(lambda: b"--mark--" in session.host.screen)
    session.host.read(0.5)
    assert b"Z" not in session.host.screen
    session.end()


def test_a_viewers_terminal_is_never_asked_and_only_the_server_answers(
    server: ServerProcess,
) -> None:
    session = server.start()
    ana = session.admitted()
    session.host.type(
        b"printf '\\033[c\\033[6n\\033]52;c;aGk=\\007\\033]11;?\\007.'; read -rs -t 3 -d c x;"
        b" printf 'got-%q-end\\n' \"$x\"\r"
    )
    for each in (ana, session.host):
        each.until(lambda each=each: b"-end\r\n" in each.screen)
    for screen in (ana.screen, session.host.screen):
        answer = screen.rpartition(b"got-")[2]
        assert b"[?62" in answer
        for asked in (b"\x1b[c", b"\x1b[6n", b"\x1b]52", b"\x1b]11"):
            assert asked not in screen
    session.end()


def test_frames_that_nobody_sends_end_their_connection_and_nothing_else(
    server: ServerProcess,
) -> None:
    session = server.start()
    chance = random.Random(7)
    frames = [
        b"\x03" + b"x" * (70 << 10),
        b"\x05{",
        b"\x04\xff",
        b"\x01" + b"\0" * 8,
        *(bytes((chance.randrange(9, 256),)) + chance.randbytes(20) for _ in range(5)),
    ]
    for frame in frames:
        host = Connection(server, session.id, server.bearer)
        host.until(lambda host=host: host.snapshots)
        host.socket.send(frame)
        host.until(lambda host=host: host.closed)
        assert host.code in (4400, 1009)
    text = Connection(server, session.id, server.bearer)
    text.socket.send("a text")
    text.until(lambda: text.closed)
    session.host.type(b"echo alive-$((40+2))\r")
    session.host.until(lambda: b"alive-42" in session.host.screen)
    session.end()


def test_a_flood_of_sizes_neither_hurts_nor_slows(server: ServerProcess) -> None:
    session = server.start()
    for number in range(2000):
        session.host.socket.send(struct.pack("!BHH", 4, number % 65536, 65535 - number % 100))
    session.host.socket.send(struct.pack("!BHH", 4, 90, 25))
    session.host.until(lambda: session.host.sizes[-1:] == [(90, 25)])
    session.host.type(b"echo $COLUMNS-$((40+2))\r")
    session.host.until(lambda: b"90-42" in session.host.screen)
    assert len(session.host.sizes) < 200
    session.end()


def test_a_guest_who_reads_nothing_slows_nobody_and_is_drawn_the_end(
    server: ServerProcess,
) -> None:
    session = server.start()
    ana = session.admitted()
    began = time.monotonic()
    session.host.type(
        b"head -c 8000000 /dev/zero | tr '\\0' 'x' | fold -w 79; echo end-$((40+2))\r"
    )
    session.host.until(lambda: b"end-42" in session.host.screen)
    took = time.monotonic() - began
    ana.until(lambda: b"end-42" in ana.screen)
    assert ana.snapshots > 1
    assert len(ana.screen) < 6_000_000
    assert took < 60
    session.end()


def test_names_and_titles_carry_nothing_that_acts(server: ServerProcess) -> None:
    session = server.start()
    name = "<script>alert(1)</script>\x1b]52;c;x\x07\u202eevil" + "x" * 500
    ana = session.guest(name)
    shown = ana.said("waiting")["name"]
    assert len(shown) <= 40
    assert not any(ord(each) < 32 or each == "\u202e" for each in shown)
    second = session.guest("host")
    assert second.said("waiting")["name"] == "host (2)"
    session.end()


def test_the_interface_is_described_as_it_is(server: ServerProcess) -> None:
    from redoma.server.api import Api

    described = {
        (method.upper(), path)
        for path, methods in server.ask("GET", "/api/openapi.json")["paths"].items()
        for method in methods
    }
    routes = Api(None, webrtc=False, link=str).routes()  # type: ignore[arg-type]
    there = {
        (method, route.path)
        for route in routes
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert described == there


@pytest.mark.requirement("S6")
def test_a_guest_who_came_late_gets_nothing_that_scrolled_away_before(
    server: ServerProcess,
) -> None:
    session = server.start()
    session.host.type(b"echo secret-$((40+2)); seq 1 60; echo done-$((40+2))\r")
    session.host.until(lambda: b"done-42" in session.host.screen)
    everything = b""

    def size(rows: int) -> bytes:
        return b"\x04" + struct.pack("!HH", 80, rows)

    def drawn_anew(guest: Connection) -> None:
        nonlocal everything
        before = guest.snapshots
        session.permit(guest, "none")
        session.permit(guest, "read_only")
        guest.until(lambda: guest.snapshots > before)
        guest.read(0.2)
        everything += guest.screen

    ana = session.admitted()
    everything += ana.screen
    # By a size of one's own, by acknowledging what never was, and by asking what guests cannot.
    for frame in (size(300), b"\x06" + bytes(8), b"\x06" + b"\xff" * 8, b"\x05" + b'{"type":"x"}'):
        ana.socket.send(frame)
    drawn_anew(ana)
    # When the host makes the screen larger, a terminal fills it from what scrolled away.
    session.host.socket.send(size(200))
    ana.until(lambda: (80, 200) in ana.sizes)
    drawn_anew(ana)
    # The same behind the screen of a program of its own.
    session.host.socket.send(size(24))
    session.host.type(b"seq 61 99; printf '\\033[?1049h'; echo alt-$((40+2))\r")
    ana.until(lambda: b"alt-42" in ana.screen and (80, 24) in ana.sizes)
    session.host.socket.send(size(199))
    ana.until(lambda: (80, 199) in ana.sizes)
    session.host.type(b"printf '\\033[?1049l'; echo left-$((40+2))\r")
    ana.until(lambda: b"left-42" in ana.screen)
    drawn_anew(ana)
    # By coming again.
    again = Connection(server, session.id, ana.bearer, ana.guest)
    again.until(lambda: again.said("waiting") is not None)
    session.decide(again, "admit")
    again.until(lambda: again.snapshots)
    drawn_anew(again)
    assert b"done-42" in everything
    assert b"secret-42" not in everything
    assert b"secret-42" not in again.screen
    session.host.until(lambda: b"left-42" in session.host.screen)
    session.end()
