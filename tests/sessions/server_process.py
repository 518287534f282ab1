"""`redoma serve` as a process, and its host and guests as this test's own connections."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import websockets.sync.client as ws
from websockets.exceptions import ConnectionClosed

from tests.tidy import remove

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class ServerProcess:
    """A server of its own, with a state directory and a workspace of its own."""

    def __init__(self, *options: str) -> None:
        self.place = tempfile.mkdtemp(prefix="rdm-serve-", dir="/var/tmp")
        self.workspace = os.path.join(self.place, "work")
        os.mkdir(self.workspace)
        self.env = {
            **os.environ,
            "XDG_STATE_HOME": os.path.join(self.place, "state"),
            "PYTHONPATH": str(ROOT / "src"),
        }
        argv = [sys.executable, "-m", "redoma", "serve", "--json", "--port", "0", *options]
        self.process = subprocess.Popen(
            argv, env=self.env, cwd=self.workspace, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.about = json.loads(self.process.stdout.readline())
        self.url = self.about["url"]
        self.tls = self._pinned() if self.url.startswith("https:") else None
        self.token = self.about["link"].partition("#login=")[2]
        self.bearer = self.ask("POST", "/api/login", {"token": self.token})["bearer"]

    def _pinned(self) -> ssl.SSLContext:
        """Trusts the very certificate whose fingerprint was printed, as a careful guest does."""
        where = urlsplit(self.url)
        pem = ssl.get_server_certificate((where.hostname or "", where.port or 0), timeout=PATIENCE)
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().upper()
        assert ":".join(digest[at : at + 2] for at in range(0, 64, 2)) == self.about["fingerprint"]
        return ssl.create_default_context(cadata=pem)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            remove(self.place)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        bearer: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Status and answer; by the host unless another bearer is given, None for nobody."""
        where = urlsplit(self.url)
        host, port = where.hostname or "", where.port
        connection = (
            http.client.HTTPSConnection(host, port, timeout=PATIENCE, context=self.tls)
            if self.tls is not None
            else http.client.HTTPConnection(host, port, timeout=PATIENCE)
        )
        said = {"Content-Type": "application/json"} if body is not None else {}
        if bearer is not None:
            said["Authorization"] = f"Bearer {bearer or getattr(self, 'bearer', '')}"
        try:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(
                method, path, data if body is not None else None, {**said, **(headers or {})}
            )
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        status, data = self.request(method, path, body, **more)
        assert status < 300, (status, data)
        return json.loads(data)

    def start(self, **options: object) -> SharedSession:
        made = self.ask("POST", "/api/sessions", {"cwd": self.workspace, **options})
        return SharedSession(self, made["id"])


class SharedSession:
    """One session, as its host sees it."""

    def __init__(self, server: ServerProcess, id: str) -> None:
        self.server = server
        self.id = id
        self.path = f"/api/sessions/{id}"
        self.host = Connection(server, id, server.bearer)
        self.host.until(lambda: b"(redoma)" in self.host.screen)

    def code(self) -> str:
        return str(self.server.ask("POST", f"{self.path}/code", {})["code"])

    def guest(self, name: str = "Ana") -> Connection:
        """Somebody who came with a code, and waits."""
        joined = self.server.ask(
            "POST", "/api/join", {"code": self.code(), "name": name}, bearer=None
        )
        connection = Connection(self.server, self.id, joined["bearer"], joined["guest"])
        connection.until(lambda: connection.said("waiting") is not None)
        return connection

    def admitted(self, name: str = "Ana") -> Connection:
        guest = self.guest(name)
        self.decide(guest, "admit")
        guest.until(lambda: guest.snapshots > 0)
        return guest

    def decide(self, guest: Connection, what: str) -> Any:
        return self.server.ask("POST", f"{self.path}/guests/{guest.guest}/{what}", {})

    def permit(self, guest: Connection, level: str) -> Any:
        return self.server.ask(
            "PUT", f"{self.path}/guests/{guest.guest}/permission", {"permission": level}
        )

    def audit(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.server.ask("GET", f"{self.path}/audit")["events"]
        return found

    def end(self) -> Any:
        self.host.close()
        return self.server.ask("DELETE", self.path)


class Connection:
    """One channel, and all that came on it."""

    def __init__(self, server: ServerProcess, session: str, bearer: str, guest: str = "") -> None:
        self.server, self.session, self.bearer, self.guest = server, session, bearer, guest
        self.screen = b""
        self.messages: list[dict[str, Any]] = []
        self.sizes: list[tuple[int, int]] = []
        self.snapshots = 0
        self.closed = ""
        self.code = 0
        path = f"/api/sessions/{session}"
        self.ticket = server.ask("POST", f"{path}/ticket", {}, bearer=bearer)["ticket"]
        self.socket = ws.connect(
            server.url.replace("http", "ws", 1) + f"{path}/channel",
            compression=None,
            max_size=None,
            ssl=server.tls,
            open_timeout=PATIENCE,
        )
        self.socket.send(json.dumps({"ticket": self.ticket, "protocol": 1}))

    def type(self, data: bytes) -> None:
        self.socket.send(b"\x03" + data)

    def read(self, seconds: float = 0.05) -> None:
        """Takes what comes in this time."""
        deadline = time.monotonic() + seconds
        while not self.closed and time.monotonic() < deadline:
            try:
                self._take(self.socket.recv(timeout=max(0.001, deadline - time.monotonic())))
            except TimeoutError:
                return
            except ConnectionClosed as end:
                self.code = end.rcvd.code if end.rcvd else 1006
                self.closed = (end.rcvd.reason if end.rcvd else "") or "closed"

    def until(self, happened: Callable[[], object]) -> None:
        """Reads until something is so; fails when it never is."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < deadline, (self.screen[-500:], self.messages[-5:])
            assert not self.closed or happened(), self.closed
            self.read()

    def said(self, type: str) -> dict[str, Any] | None:
        """The newest message of a kind."""
        return next((each for each in reversed(self.messages) if each["type"] == type), None)

    def close(self) -> None:
        self.socket.close()

    def _take(self, frame: bytes | str) -> None:
        assert isinstance(frame, bytes)
        if frame[0] == 1:
            self.screen += frame[9:]
            (before,) = struct.unpack_from("!Q", frame, 1)
            self._acknowledge(before + len(frame) - 9)
        elif frame[0] == 2:
            self.screen = frame[13:]
            self.snapshots += 1
            self._acknowledge(struct.unpack_from("!Q", frame, 1)[0])
        elif frame[0] == 4:
            columns, rows = struct.unpack_from("!HH", frame, 1)
            self.sizes.append((columns, rows))
        elif frame[0] == 5:
            self.messages.append(json.loads(frame[1:]))
        elif frame[0] == 9:
            self.screen += frame[1:]

    def _acknowledge(self, sequence: int) -> None:
        with suppress(ConnectionClosed):  # what came before the end is still read
            self.socket.send(b"\x06" + struct.pack("!Q", sequence))
