"""Listeners of the host that write down what reaches them."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Self


class Listener:
    """A bound socket; `heard` is everything that arrived, by connection or by packet."""

    def __init__(self, bound: socket.socket) -> None:
        self.socket = bound
        self.heard: list[bytes] = []
        self._over = threading.Event()
        bound.settimeout(0.05)
        if bound.type == socket.SOCK_STREAM:
            bound.listen()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def _listen(self) -> None:
        while not self._over.is_set():
            with suppress(OSError):
                if self.socket.type != socket.SOCK_STREAM:
                    self.heard.append(self.socket.recv(4096))
                    continue
                peer, _ = self.socket.accept()
                with peer:
                    peer.settimeout(0.5)
                    self.heard.append(b"connected ")
                    self.heard.append(peer.recv(4096))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.socket.close()

    def evidence(self) -> str:
        """What reached it, or nothing; what is still on its way is waited for."""
        if not self.heard:
            time.sleep(0.12)
        heard = b"".join(self.heard)
        return f"the host's listener heard {heard[:60]!r}" if heard else ""


def internet(address: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> Listener:
    """A listener on any free port of an address of this machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = socket.socket(family, kind)
    bound.bind((address, 0))
    return Listener(bound)


def by_path(path: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> Listener:
    """A listener on a unix socket that everybody may write; an abstract one where it begins so."""
    bound = socket.socket(socket.AF_UNIX, kind)
    bound.bind(path)
    if not path.startswith("\0"):
        os.chmod(path, 0o777)
    return Listener(bound)


def own_address() -> str:
    """An address of this machine that is not its loopback, or nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking, suppress(OSError):
        asking.connect(("192.0.2.1", 9))  # a packet socket sends nothing by connecting
        found = str(asking.getsockname()[0])
        return "" if found.startswith("127.") else found
    return ""
