"""A permission is looked at where bytes are written, so that a revocation is exact."""

from __future__ import annotations

import os
import threading
import time
import tty
from collections.abc import Iterator

import pytest

from redoma.sessions.input_gate import HOST, TERMINAL, InputGate


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    os.set_blocking(slave, False)
    yield master, slave
    os.close(master)
    os.close(slave)


def read(slave: int) -> bytes:
    got = b""
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        try:
            got += os.read(slave, 65536)
        except BlockingIOError:
            time.sleep(0.01)
    return got


def test_nobody_types_who_was_not_allowed_to(terminal: tuple[int, int]) -> None:
    gate = InputGate()
    assert not gate.type("ana", b"rm")
    gate.write_to(terminal[0])
    assert read(terminal[1]) == b""


def test_of_what_waits_nothing_is_written_after_a_revocation(terminal: tuple[int, int]) -> None:
    gate = InputGate()
    gate.allow("ana")
    assert gate.type("ana", b"x" * 10_000)
    assert gate.type(HOST, b"mine")
    gate.revoke("ana")
    gate.write_to(terminal[0])
    assert read(terminal[1]) == b"mine"
    gate.close()


def test_ten_thousand_bytes_in_flight_stop_at_the_revocation(terminal: tuple[int, int]) -> None:
    """Two threads at once, as in a session; what is typed afterwards is marked, and never comes."""
    gate = InputGate()
    gate.allow("ana")
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            gate.write_to(terminal[0])

    writer = threading.Thread(target=write)
    writer.start()
    typed, after = [0], [0]

    def keep_typing() -> None:
        while after[0] < 10_000:
            if gate.type("ana", b"a" if not revoked.is_set() else b"Z"):
                typed[0] += 1
            if revoked.is_set():
                after[0] += 1

    revoked = threading.Event()
    typist = threading.Thread(target=keep_typing)
    typist.start()
    time.sleep(0.05)
    gate.revoke("ana")
    revoked.set()
    seen_then = read(terminal[1])
    typist.join()
    over.set()
    writer.join()
    assert typed[0] > 0
    assert b"Z" not in seen_then + read(terminal[1])
    assert read(terminal[1]) == b""
    gate.close()


def test_what_the_kernel_holds_unread_is_gone_with_a_revocation(terminal: tuple[int, int]) -> None:
    """Attack: commands typed while a program sleeps would run when it wakes, long after."""
    gate = InputGate()
    gate.allow("ana")
    gate.type("ana", b"later\n" * 10)
    gate.write_to(terminal[0])
    gate.revoke("ana")
    assert read(terminal[1]) == b""
    gate.close()


def test_while_the_host_is_gone_only_the_terminal_itself_types(terminal: tuple[int, int]) -> None:
    gate = InputGate()
    gate.allow("ana")
    gate.type("ana", b"before")
    gate.freeze()
    assert not gate.type("ana", b"x")
    assert not gate.type(HOST, b"y")
    assert gate.type(TERMINAL, b"\x1b[0n")
    gate.write_to(terminal[0])
    assert read(terminal[1]) == b"\x1b[0n"
    gate.thaw()
    assert gate.type("ana", b"again")
    gate.close()


def test_who_types_more_than_is_read_is_stopped(terminal: tuple[int, int]) -> None:
    gate = InputGate()
    gate.allow("ana")
    taken = sum(gate.type("ana", b"x" * 60_000) for _ in range(50))
    assert taken == 4
    assert gate.type(HOST, b"mine")
    gate.close()


def test_it_is_known_who_typed(terminal: tuple[int, int]) -> None:
    gate = InputGate()
    gate.allow("ana")
    gate.type("ana", b"a")
    gate.type(HOST, b"b")
    gate.type(TERMINAL, b"c")
    gate.write_to(terminal[0])
    assert gate.typists() == ("ana", HOST)
    assert gate.typists() == ()
    gate.close()
