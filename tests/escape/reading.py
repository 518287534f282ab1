"""Hosts of the tests' own behind a gate that reads requests, and commands that ask them."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from redoma.egress.host_rules import read
from redoma.model.network import Connection, Reach
from redoma.model.result import Result
from redoma.model.value import replace
from tests.escape.gated import behind_a_gate, certificate

# What scripts share: one request written by hand, so that nothing corrects it.
PRELUDE = """
import json, urllib.request, urllib.error
def opened(name, port, sni=None):
    raw = socket.create_connection((name, port), timeout=10)
    return ssl.create_default_context().wrap_socket(raw, server_hostname=sni or name)
def said(stream, data, shut=False):
    stream.sendall(data)
    got = b""
    try:
        while part := stream.recv(65536):
            got += part
    except OSError as e:
        got += b"<" + type(e).__name__.encode() + b">"
    return got
def status(data):
    return data.split(b"\\r\\n")[0].decode(), data.partition(b"\\r\\n\\r\\n")[2].decode()
def get(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as a:
            return a.status, a.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
"""


class Asked:
    """One request as a host received it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self.line = handler.requestline
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body

    def __repr__(self) -> str:
        return f"Asked({self.line!r}, {self.body[:40]!r})"


class Host:
    """An HTTP/1.1 server on this machine that keeps what it is asked."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            kept: ClassVar[list[Asked]] = host.asked

            def log_message(self, *_: object) -> None:
                return

            def _answer(self) -> None:
                body = b""
                if self.headers.get("transfer-encoding") == "chunked":
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("content-length") or 0))
                self.kept.append(Asked(self, body))
                answer(self, body)

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = _answer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        if context is not None:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    @property
    def lines(self) -> list[str]:
        return [each.line for each in self.asked]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def answer(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """What a host says, by the path it is asked for."""
    path = handler.path.partition("?")[0]
    if path == "/chunked":
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for part in (b"one ", b"two ", b"three"):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        handler.wfile.write(b"0\r\n\r\n")
        return
    if path == "/until-it-ends":
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(b"all of it")
        handler.close_connection = True
        return
    if path in ("/empty", "/unchanged"):
        handler.send_response(204 if path == "/empty" else 304)
        handler.end_headers()
        return
    if path == "/elsewhere":
        handler.send_response(302)
        handler.send_header("Location", "https://other.test/taken")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    said = body or f"{handler.command} {handler.path}".encode()
    if path == "/echo":
        said = "".join(f"{k.lower()}: {v}\n" for k, v in handler.headers.items()).encode()
    if path == "/packed":
        said = "".join(f"{k.lower()}: {v}\n" for k, v in handler.headers.items()).encode()
        handler.send_response_only(103)
        handler.send_header("Link", f"<{handler.headers.get('authorization')}>")
        handler.end_headers()
        handler.send_response(200)
        said = gzip.compress(said)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(said)))
        handler.end_headers()
        handler.wfile.write(said)
        return
    if path == "/big":
        said = b"x" * (4 << 20)
    handler.send_response(200)
    for name, value in handler.headers.items():
        if path == "/echo" and name.lower() == "authorization":
            handler.send_header("X-Echo", value)
    handler.send_header("Content-Length", str(len(said)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(said)


@contextmanager
def trusted(place: Path, name: str) -> Iterator[ssl.SSLContext]:
    """A certificate for `name` that this machine trusts, and nobody else."""
    context = certificate(place, name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SSL_CERT_FILE", str(place / "cert.pem"))
        yield context


@contextmanager
def trusted_host(place: Path, name: str) -> Iterator[Host]:
    """A host over TLS that this machine trusts by that name."""
    with trusted(place, name) as context:
        made = Host(context)
        yield made
        made.close()


def inspected(*hosts: str, **changes: object) -> Reach:
    """A reach whose requests are read."""
    return replace(read(hosts), inspect=True, **changes)


def reading(
    script: str,
    *hosts: str,
    reach: Reach | None = None,
    engine: str = "",
    libraries: tuple[str, ...] = (),
) -> Result:
    """Runs a script behind a gate that reads its requests."""
    granted = reach or inspected(*hosts)
    return behind_a_gate(PRELUDE + script, reach=granted, engine=engine, libraries=libraries)


def requests_of(result: Result) -> list[tuple[str, str, str, int]]:
    """Each request that is noted: (method, target, path, status)."""
    calls: tuple[Connection, ...] = result.network_calls or ()
    return [(c.method, c.target, c.path, c.status) for c in calls if c.kind in ("http", "https")]


def spoken_first(greeting: bytes) -> tuple[socket.socket, int]:
    """A server that greets before it is asked, and repeats what it hears."""
    listens = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listens.accept()
                client.sendall(greeting)
                with client:
                    while data := client.recv(4096):
                        client.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    return listens, listens.getsockname()[1]
