"""Tries, from inside a confinement, what it has to refuse, and prints what was not refused."""

from __future__ import annotations

import _socket  # `socket` itself loads much more
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def attempt(outside: str) -> None:
    """`outside` is a directory with a file `read-me` that the confined process may not touch."""
    tries: dict[str, Callable[[], object]] = {
        "wrote": lambda: os.close(os.open(f"{outside}/made", os.O_CREAT | os.O_WRONLY)),
        "read": lambda: os.close(os.open(f"{outside}/read-me", os.O_RDONLY)),
        "listed": lambda: os.listdir(outside),
        "attributes": lambda: os.chmod(f"{outside}/read-me", 0o640),
        "times": lambda: os.utime(f"{outside}/read-me"),
        "network": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).close(),
        "datagrams": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM).close(),
        "sockets": lambda: _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM).close(),
        "signalled": lambda: os.kill(os.getppid(), 0),
    }
    for name, attack in tries.items():
        try:
            attack()
        except OSError:
            continue
        os.write(1, f"{name}\n".encode())
    os.write(1, b"done\n")
