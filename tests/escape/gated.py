"""Runs something behind a gate, with servers of the tests' own to be reached or not."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from redoma.egress import host_rules
from redoma.egress.grants import gated
from redoma.jail.engines.choice import plan
from redoma.jail.profiles.profile import load
from redoma.model.grant import Guarantee, Writes
from redoma.model.network import Reach
from redoma.model.request import Program, Request
from redoma.model.result import Result
from redoma.model.value import replace
from redoma.pipeline.execute import execute
from redoma.pipeline.this_host import this_host
from tests.tidy import remove

PYTHON = "/usr/bin/python3"
# What attacks share: how to ask a name server without a C library in between.
PRELUDE = """
import os, socket, ssl, struct, sys, time
def ask(name, server="192.0.2.53", kind=1, tcp=False, port=53):
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split("."))
    q = struct.pack("!HHHHHH", 7, 256, 1, 0, 0, 0) + labels + b"\\0" + struct.pack("!HH", kind, 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(5); s.connect((server, port))
    s.send(struct.pack("!H", len(q)) + q if tcp else q)
    a = s.recv(4096); a = a[2:] if tcp else a
    return a[3] & 15, struct.unpack("!H", a[6:8])[0], a
def reach(address, port, data=b"GET / HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n", family=socket.AF_INET):
    began = time.monotonic()
    try:
        s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(5); s.connect((address, port))
        s.send(data); got = s.recv(4096)
        return "got " + repr(got) if got else "nothing"
    except OSError as e:
        return type(e).__name__ if time.monotonic() - began < 3 else "slow " + type(e).__name__
"""


class Server:
    """Listens on this machine, keeps everything that is sent to it, and answers."""

    def __init__(
        self,
        answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        *,
        host: str = "127.0.0.1",
        greeting: bytes = b"",
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.heard: list[bytes] = []
        self.accepted = 0
        self._answer = answer
        self._greeting = greeting
        self._context = context
        self._socket = socket.create_server((host, 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        with suppress(OSError):
            if self._context is not None:
                client = self._context.wrap_socket(client, server_side=True)
            if self._greeting:
                client.sendall(self._greeting)
            while data := client.recv(1 << 16):
                self.heard.append(data)
                client.sendall(self._answer)
        client.close()

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def workspace() -> Iterator[Path]:
    """A directory that a command may work in."""
    place = Path(tempfile.mkdtemp(prefix="rdm-gate-", dir="/var/tmp"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        remove(place)


def behind_a_gate(
    script: str,
    *hosts: str,
    engine: str = "",
    reach: Reach | None = None,
    level: str = "standard",
    libraries: tuple[str, ...] = (),
) -> Result:
    """Runs a Python script in a sandbox that may reach these hosts.

    `libraries` are pure Python of the tests' own environment, copied beside the script.
    """
    with workspace() as place:
        (place / "script.py").write_text(PRELUDE + script, encoding="utf-8")
        for each in libraries:
            origin = os.path.join(sysconfig.get_paths()["purelib"], each)
            shutil.copytree(origin, place / each, ignore=shutil.ignore_patterns("__pycache__"))
        return run([PYTHON, "script.py"], place, *hosts, engine=engine, reach=reach, level=level)


def run(
    argv: list[str],
    place: Path,
    *hosts: str,
    engine: str = "",
    reach: Reach | None = None,
    level: str = "standard",
    env: dict[str, str] | None = None,
) -> Result:
    """Runs a program in a workspace that may reach these hosts."""
    grant = load(level).grant(os.path.realpath(place))
    grant = gated(grant, host_rules.read(hosts) if reach is None else reach)
    grant = replace(
        grant,
        writes=Writes.DIRECT,
        require=grant.require - {Guarantee.CHANGES_HELD},
        limits=replace(grant.limits, wall_seconds=60.0),
        prefer=(engine,) if engine else grant.prefer,
        env=tuple((env or {}).items()),
    )
    host = this_host()
    made = plan(Request(workload=Program(argv=tuple(argv))), grant, host)
    return execute(made, host)


def said(result: Result) -> list[str]:
    """What a script printed; what went wrong where it printed nothing."""
    return (result.stdout.decode() or result.stderr.decode()).splitlines()


def refusals(result: Result) -> dict[str, str]:
    """Each refused target, and why."""
    assert result.network_calls is not None
    return {call.target: call.why for call in result.network_calls if not call.allowed}


def certificate(place: Path, name: str) -> ssl.SSLContext:
    """What a server needs to be `name`, signed by itself; the certificate stays in `place`."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName=DNS:{name}"),
            *("-keyout", str(place / "key.pem"), "-out", str(place / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "cert.pem", place / "key.pem")
    return context
