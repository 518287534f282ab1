"""On a kernel that redirects nothing the gate listens on granted ports, and holds the same."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from redoma.egress.gate import EgressGate
from redoma.egress.host_rules import read
from redoma.jail.kernel.netns_sockets import LISTEN, NetnsSockets
from redoma.model.network import NOT_GRANTED, OTHER_NAME, Connection
from tests.escape.gated import PRELUDE, PYTHON, Server

pytestmark = pytest.mark.both_users

# What an engine does: a network of its own whose loopback is up, and a wait before the command.
INSIDE = """
import fcntl
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH22x", b"lo", 0x49))
print("up", flush=True); sys.stdin.readline()
"""
SCRIPT = """
def request(host): return f"GET / HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode()
print(reach("a.test", 80, request("a.test"))[5:17], reach("a.test", 80, request("b.test"))[5:17])
print(reach("a.test", 81), reach("192.0.2.1", 80), reach("192.0.2.1", 443), reach("2001:db8::1", 80, family=10))
print(ask("evil.test")[:2], ask("a.test", tcp=True)[:2])
"""


@pytest.fixture
def enclosed() -> Iterator[subprocess.Popen[str]]:
    argv = [
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        PYTHON,
        "-c",
        PRELUDE + INSIDE + SCRIPT,
    ]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


def test_granted_ports_are_listened_on_and_held_to_their_names(
    enclosed: subprocess.Popen[str],
) -> None:
    server = Server()
    reach = read([f"a.test:80=127.0.0.1:{server.port}"])
    embassy = NetnsSockets(ports=(80,), local=(), stays=False, redirects=False)
    embassy.enter(enclosed.pid)
    gate = EgressGate(reach, embassy, enclosed.pid, lambda: None)
    gate.start()
    said, complained = enclosed.communicate("go\n", timeout=30)
    calls = gate.stop()
    embassy.close()
    server.close()
    assert (embassy.mode, said.splitlines()) == (
        LISTEN,
        [
            "'HTTP/1.1 20 'HTTP/1.1 40",
            "ConnectionRefusedError ConnectionResetError ConnectionRefusedError"
            " ConnectionResetError",
            "(3, 0) (0, 1)",
        ],
    ), complained
    assert _told(calls) == {
        ("a.test:80", ""),
        ("a.test:80", OTHER_NAME),
        ("192.0.2.1:80", NOT_GRANTED),
        ("[2001:db8::1]:80", NOT_GRANTED),
        ("evil.test", NOT_GRANTED),
    }
    assert b"b.test" not in b"".join(server.heard)


def _told(calls: tuple[Connection, ...]) -> set[tuple[str, str]]:
    return {(call.target, call.why) for call in calls}
