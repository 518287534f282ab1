"""What was sent is read once and whole, whoever stops waiting for it in between."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest

from redoma.egress.async_streams import Readiness, SocketStream


@pytest.mark.parametrize("turns", range(6))
def test_a_reader_that_is_cancelled_has_taken_nothing(turns: int) -> None:
    async def cancelled_after(ours: socket.socket, theirs: socket.socket) -> bytes:
        stream = SocketStream(ours, Readiness(asyncio.get_running_loop()))
        waiting = asyncio.create_task(stream.read())
        await asyncio.sleep(0)
        theirs.send(b"said")
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            return await waiting
        return await asyncio.wait_for(stream.read(), 5)

    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        assert asyncio.run(cancelled_after(ours, theirs)) == b"said"


def test_the_end_and_what_was_put_back_are_read_in_order() -> None:
    async def all_of(ours: socket.socket) -> list[bytes]:
        stream = SocketStream(ours, Readiness(asyncio.get_running_loop()))
        stream.put_back(b"first")
        return [await stream.read(), await stream.read(), await stream.read()]

    ours, theirs = socket.socketpair()
    with ours:
        ours.setblocking(False)
        theirs.send(b"then")
        theirs.close()
        assert asyncio.run(all_of(ours)) == [b"first", b"then", b""]
