"""Functions that tests run inside: light, since each call imports them anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Found:
    path: Path
    lines: int


class Counter:
    """A tool with state, as people write them."""

    def __init__(self, start: int) -> None:
        self.start = start

    def add(self, more: int) -> int:
        return self.start + more

    def __call__(self, more: int) -> int:
        return self.start * more


class OwnTrouble(Exception):
    """An exception that the caller's process has, and that still comes back as data."""


def count(path: str) -> Found:
    return Found(Path(path), len(Path(path).read_text().splitlines()))


def numbers(most: int) -> Iterator[int]:
    yield from range(most)


async def numbers_awaited(most: int) -> AsyncIterator[int]:
    for number in range(most):
        await asyncio.sleep(0)
        yield number


async def doubled(value: int) -> int:
    await asyncio.sleep(0.001)
    return 2 * value


def forever() -> None:
    while True:
        pass


def fails() -> None:
    try:
        raise LookupError("first")
    except LookupError as error:
        raise OwnTrouble("then", 5) from error


def connects(host: str) -> None:
    import socket

    socket.create_connection((host, 80), timeout=5).close()


def nested(workspace: str) -> object:
    from redoma import Sandbox

    return Sandbox(workspace).call(len, "x")


def writes(path: str, *, fails: bool) -> int:
    written = Path(path).write_text("made inside")
    if fails:
        raise ValueError("after all")
    return written
