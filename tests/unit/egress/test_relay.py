"""Bytes arrive whole and in order, whatever is slow, and nothing is kept of what has passed."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from redoma.egress.relay import Flow, Pipes

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[tuple[Pair, Pair]]:
    """Two connections by TCP; a flow leads from the second end of one to the first of the other."""
    with socket.create_server(("127.0.0.1", 0)) as listens:
        made = []
        for _ in range(2):
            near = socket.create_connection(listens.getsockname())
            far, _ = listens.accept()
            far.setblocking(False)
            made.append((near, far))
    yield made[0], made[1]
    for pair in made:
        for each in pair:
            each.close()


def carried(flow: Flow, until: float = 20.0) -> None:
    """Moves until the flow is over."""
    end = time.monotonic() + until
    while not flow.over and time.monotonic() < end:
        flow.move()
        time.sleep(0.0005)


def test_bytes_arrive_whole_and_in_order_although_the_reader_is_slow(
    ends: tuple[Pair, Pair],
) -> None:
    (sender, source), (reader, target) = ends
    data = os.urandom(8 << 20)
    heard = bytearray()

    def read() -> None:
        while piece := reader.recv(1 << 15):
            heard.extend(piece)
            time.sleep(0.0002)

    threads = [
        threading.Thread(target=read),
        threading.Thread(target=lambda: (sender.sendall(data), sender.shutdown(1))),
    ]
    for thread in threads:
        thread.start()
    pipes = Pipes()
    flow = Flow(source, target, pipes)
    carried(flow)
    for thread in threads:
        thread.join(20)
    flow.close()
    pipes.close()
    assert (bytes(heard) == data, flow.moved) == (True, len(data))


def test_what_was_read_before_comes_first(ends: tuple[Pair, Pair]) -> None:
    (sender, source), (reader, target) = ends
    flow = Flow(source, target, Pipes(), b"first ")
    sender.sendall(b"then")
    sender.shutdown(1)
    carried(flow)
    assert reader.recv(100) == b"first then"


def test_a_resting_connection_has_no_pipe(ends: tuple[Pair, Pair]) -> None:
    (sender, source), (reader, target) = ends
    pipes = Pipes()
    flow = Flow(source, target, pipes)
    sender.sendall(b"x" * 1000)
    before = len(os.listdir("/proc/self/fd"))
    time.sleep(0.05)
    flow.move()
    assert len(reader.recv(2000)) == 1000
    pipes.close()
    assert len(os.listdir("/proc/self/fd")) <= before  # a server of another test may end meanwhile


def test_a_broken_connection_is_an_error(ends: tuple[Pair, Pair]) -> None:
    (sender, source), (reader, target) = ends
    flow = Flow(source, target, Pipes())
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    reader.close()
    sender.sendall(b"x" * 1000)
    with pytest.raises(OSError, match=r"."):
        for _ in range(100):
            flow.move()
            sender.sendall(b"x")
            time.sleep(0.005)
