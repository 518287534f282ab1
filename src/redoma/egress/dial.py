"""Dials a host: all its addresses in turn, the next one beside a silent one (RFC 8305)."""

from __future__ import annotations

import asyncio
import os
from errno import EINPROGRESS
from functools import partial
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SO_ERROR, SOCK_STREAM, SOL_SOCKET, TCP_NODELAY
from socket import socket as new_socket

from redoma.egress.async_streams import settle
from redoma.egress.exchange import UpstreamFailed
from redoma.model.network import UNREACHABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

    from redoma.egress.async_streams import Readiness

_DIAL_SECONDS = 10.0
# RFC 8305: how long one address may be silent before the next is tried beside it.
_HEAD_START = 0.25


async def dialled(places: list[tuple[str, int]], readiness: Readiness) -> tuple[socket, str]:
    """A connection to the first place that answers, and its address; Failed where none does.

    Attack on patience: a host whose first address is dead. The next one gets its chance a quarter
    of a second later, beside it (RFC 8305).
    """
    try:
        async with asyncio.timeout(_DIAL_SECONDS):
            if len(places) == 1:
                return await _dial(places[0], readiness)
            return await _raced(interleaved(places), readiness)
    except (OSError, TimeoutError) as error:
        raise UpstreamFailed(UNREACHABLE) from error


def interleaved(places: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The same, so that each other one is of the other family; the first stays the first."""
    left = list(places)
    made: list[tuple[str, int]] = []
    while left:
        last = ":" in made[-1][0] if made else None
        other = next((each for each in left if (":" in each[0]) is not last), left[0])
        left.remove(other)
        made.append(other)
    return made


async def _raced(places: list[tuple[str, int]], readiness: Readiness) -> tuple[socket, str]:
    under_way: set[asyncio.Task[tuple[socket, str]]] = set()
    left = list(places)
    try:
        while left or under_way:
            if left:
                under_way.add(asyncio.create_task(_dial(left.pop(0), readiness)))
            done, under_way = await asyncio.wait(
                under_way,
                timeout=_HEAD_START if left else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            found = [task for task in done if task.exception() is None]
            if found:
                under_way.update(found[1:])
                return found[0].result()
        raise UpstreamFailed(UNREACHABLE)
    finally:
        for task in under_way:
            task.add_done_callback(_let_go)
            task.cancel()


def _let_go(task: asyncio.Task[tuple[socket, str]]) -> None:
    """Closes a connection that came after all, when another was taken or nobody waits any more."""
    if not task.cancelled() and task.exception() is None:
        task.result()[0].close()


async def _dial(place: tuple[str, int], readiness: Readiness) -> tuple[socket, str]:
    address, port = place
    sock = new_socket(AF_INET6 if ":" in address else AF_INET, SOCK_STREAM)
    try:
        sock.setblocking(False)  # noqa: FBT003
        error = sock.connect_ex((address, port))
        if error == EINPROGRESS:
            connected: asyncio.Future[None] = readiness.loop.create_future()
            readiness.watch(sock, partial(settle, connected))
            await connected
            readiness.forget(sock)
            error = sock.getsockopt(SOL_SOCKET, SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))
        sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    except BaseException:
        readiness.forget(sock)
        sock.close()
        raise
    return sock, address
