"""Functions that tests run inside: light, since each call imports them anew."""

from __future__ import annotations

import asyncio
import os
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


def reads(path: str) -> str:
    return Path(path).read_text()


def opens_by_hand(path: str) -> tuple[int, int]:
    """What the kernel says to whoever asks it without Python: a descriptor and an error."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return libc.open(path.encode(), os.O_RDWR | os.O_CREAT, 0o600), ctypes.get_errno()


def makes_by_hand(path: str) -> int:
    import ctypes

    made: int = ctypes.CDLL(None).mkdir(path.encode(), 0o700)
    return made


def starts(program: str) -> str:
    import subprocess

    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def starts_by_hand() -> tuple[int, int]:
    import ctypes

    libc = ctypes.CDLL(None)
    return libc.fork(), libc.execl(b"/bin/true", b"true", None)


def starts_many(count: int) -> int:
    import subprocess

    return len([subprocess.Popen(["sleep", "5"]) for _ in range(count)])


def threads() -> int:
    import threading

    heard: list[int] = []
    thread = threading.Thread(target=lambda: heard.append(1))
    thread.start()
    thread.join()
    return len(heard)


def fills(directory: str, files: int) -> None:
    """Writes files of ten megabytes, and stays a while."""
    import time

    for number in range(files):
        with open(f"{directory}/large{number}", "wb") as file:
            for _ in range(10):
                file.write(bytes(1 << 20))
    time.sleep(20)


def removes_a_tree(directory: str) -> bool:
    """From a directory where nothing may be written, as `shutil.rmtree` does it: by descriptors."""
    import os
    import shutil

    os.makedirs(f"{directory}/a/b")
    with open(f"{directory}/a/b/c", "w"):
        pass
    os.chdir("/usr")
    shutil.rmtree(f"{directory}/a")
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.close(os.open("d", os.O_WRONLY | os.O_CREAT, dir_fd=handle))
        os.rename("d", "e", src_dir_fd=handle, dst_dir_fd=handle)
    finally:
        os.close(handle)
    return os.path.exists(f"{directory}/a")


def removes_by_descriptor(directory: str, name: str) -> None:
    import os

    handle = os.open(directory, os.O_RDONLY)
    os.unlink(name, dir_fd=handle)
