"""Silence, halves and odd cuts: nothing hangs, spins or passes unread, whatever is left out."""

from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.egress.downstream import looks_like
from redoma.model.network import TOO_SLOW
from redoma.model.result import Outcome
from tests.escape.gated import Server, behind_a_gate, refusals, said
from tests.escape.reading import Host, reading

pytestmark = pytest.mark.both_users


def test_two_sides_that_are_silent_cost_no_time_of_the_processor() -> None:
    server = Server(b"220 ready\r\n")
    script = """
s = socket.create_connection(("a.test", 7000)); time.sleep(1.5)
s.send(b"HE"); s.recv(100); time.sleep(1.5); s.send(b"LO"); print(s.recv(10)[:3])
"""
    began = time.process_time()
    result = reading(script, f"a.test:7000=127.0.0.1:{server.port}")
    server.close()
    assert said(result) == ["b'220'"]
    assert time.process_time() - began < 0.7


def test_a_run_that_ends_amid_its_connections_is_no_loss_of_the_gate() -> None:
    web = Server()
    script = """
for number in range(30):
    s = socket.create_connection(("a.test", 80)); s.setblocking(False)
    s.send(b"GET / HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n"[: number * 2])
    globals()[f"s{number}"] = s
os._exit(0)
"""
    for _ in range(8):
        result = behind_a_gate(script, f"a.test=127.0.0.1:{web.port}")
        assert (result.outcome, result.exit_code) == (Outcome.EXITED, 0)
    web.close()


def test_a_body_that_stops_coming_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    monkeypatch.setattr("redoma.egress.downstream.BODY_SECONDS", 1.0)
    script = """
s = socket.create_connection(("a.test", 80)); s.settimeout(8)
s.send(b"POST /x HTTP/1.1\\r\\nHost: a.test\\r\\nContent-Length: 9\\r\\n\\r\\nhalf")
began = time.monotonic()
try: s.recv(10)
except OSError as error: print(type(error).__name__)
print(time.monotonic() - began < 6)
"""
    result = reading(script, f"a.test=127.0.0.1:{host.port}")
    host.close()
    assert said(result) == ["ConnectionResetError", "True"]
    assert TOO_SLOW in refusals(result).values()


# In which odd texts come: of these pieces, cut anywhere.
PIECES = (
    *("GET", "POST", "get", "G-T", "x", "/secret", "secret", "HTTP/1.1", "http/1.1", "HTTP/1.0"),
    *(
        " ",
        "\t",
        "\v",
        "\f",
        "\x1c",
        "\x85",
        "\xa0",
        "\0",
        "\r",
        "\n",
        "\r\n",
        "\x01",
        "\x16\x03\x01",
    ),
    *("Host: b.test", "Host: a.test:7000", "\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "Ω"),
)


def read_by_python(data: bytes | bytearray) -> list[str]:
    """The words of the first line that is not empty, as Python's own server reads them."""
    text = data.decode("latin-1").lstrip("\r\n")
    line, ended, _ = text.partition("\n")
    return line.split() if ended else []


def is_request(words: list[str]) -> bool:
    """Whether a server would look for who is meant by a request that begins so."""
    return (
        len(words) >= 3
        and words[-1].upper().startswith("HTTP/1")
        and re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", words[0]) is not None
    )


@given(parts=st.lists(st.sampled_from(PIECES), max_size=12), data=st.data())
@settings(max_examples=400, deadline=None)
def test_wherever_it_is_cut_a_request_is_never_taken_for_another_protocol(
    parts: list[str], data: st.DataObject
) -> None:
    text = "".join(parts).encode("latin-1", "replace")
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)) | {len(text)})
    found = next((each for cut in cuts if (each := looks_like(text[:cut])) is not None), None)
    if is_request(read_by_python(text)):
        assert found is True


def test_no_cut_of_odd_bytes_hangs_or_passes_unread() -> None:
    heard: list[bytearray] = []
    listens = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listens.accept()
                heard.append(bytearray())
                threading.Thread(target=talk, args=(client, heard[-1]), daemon=True).start()

    def talk(client: socket.socket, kept: bytearray) -> None:
        with client, suppress(OSError):
            while data := client.recv(1 << 16):
                kept.extend(data)

    threading.Thread(target=serve, daemon=True).start()
    script = f"""
import random
pieces, slow = {PIECES!r}, 0
for seed in range(150):
    chance = random.Random(seed)
    data = "".join(chance.choices(pieces, k=9)).encode("latin-1", "replace")
    began = time.monotonic()
    try:
        s = socket.create_connection(("a.test", 7000)); s.settimeout(8)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data:
            size = chance.randint(1, 8)
            s.send(data[:size]); data = data[size:]; time.sleep(0.001)
        s.shutdown(1); s.recv(100)
    except OSError: pass
    slow += time.monotonic() - began > 6
print(slow)
"""
    result = behind_a_gate(script, f"a.test:7000=127.0.0.1:{listens.getsockname()[1]}")
    listens.close()
    assert said(result) == ["0"]
    assert len(heard) > 50
    past = [data for data in heard if is_request(read_by_python(data)) and b"b.test" in data]
    assert past == []
