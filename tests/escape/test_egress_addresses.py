"""Behind a gate no address leads anywhere, by whatever protocol, unless it was granted."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from redoma.model.network import (
    DATAGRAM,
    METADATA_ADDRESS,
    NOT_GRANTED,
    NOT_PUBLIC,
    OWN_ADDRESS,
    PORT_BLOCKED,
    PORT_NOT_GRANTED,
    Reach,
)
from redoma.model.result import Outcome
from tests.escape.gated import Server, behind_a_gate, refusals, said
from tests.escape.own_machine import on_a_machine

pytestmark = pytest.mark.both_users


@pytest.fixture
def decoy() -> Iterator[Server]:
    """A service of this machine that nobody granted."""
    server = Server(host="0.0.0.0")
    yield server
    server.close()


@pytest.fixture
def granted() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def own_address() -> str:
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
        try:
            asks.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        return str(asks.getsockname()[0])


@pytest.mark.parametrize("engine", ["forkserver", "bubblewrap"])
def test_a_direct_address_is_refused_at_once_and_told(engine: str) -> None:
    result = behind_a_gate('print(reach("192.0.2.1", 443))', engine=engine)
    assert said(result) == ["ConnectionResetError"]
    assert refusals(result) == {"192.0.2.1:443": NOT_GRANTED}


def test_no_address_of_the_machine_itself_is_reached(decoy: Server) -> None:
    address = own_address()
    script = f'print(reach("{address}", {decoy.port}), reach("127.0.0.1", {decoy.port}))'
    result = behind_a_gate(script, "a.test")
    assert (said(result), decoy.accepted) == (["ConnectionResetError ConnectionRefusedError"], 0)


def test_an_address_in_the_clothes_of_another_protocol_is_the_same_address(decoy: Server) -> None:
    address = own_address()
    script = f"""
for each in ("::ffff:{address}", "::ffff:192.0.2.1", "64:ff9b::{address}", "2001:db8::1", "fe80::1"):
    print(reach(each, {decoy.port}, family=socket.AF_INET6).startswith("got"))
print(reach("::ffff:127.0.0.1", {decoy.port}, family=socket.AF_INET6))
"""
    result = behind_a_gate(script)
    assert (said(result), decoy.accepted) == (["False"] * 5 + ["ConnectionRefusedError"], 0)


def test_a_port_that_was_not_granted_is_refused(granted: Server) -> None:
    script = """
place = socket.gethostbyname("a.test")
print(reach(place, 81), reach(place, 22), reach("a.test", 80, b"GET / HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n")[:3])
"""
    result = behind_a_gate(script, f"a.test:80=127.0.0.1:{granted.port}")
    assert said(result) == ["ConnectionResetError ConnectionResetError got"]
    assert refusals(result) == {"a.test:81": PORT_NOT_GRANTED, "a.test:22": PORT_NOT_GRANTED}


def test_a_blocked_port_is_blocked_whatever_else_is_granted(granted: Server) -> None:
    from redoma.egress.host_rules import read

    reach = read([f"a.test:*=127.0.0.1:{granted.port}"], blocked_ports=[22])
    result = behind_a_gate('print(reach("a.test", 22))', reach=reach)
    assert (said(result), granted.accepted) == (["ConnectionResetError"], 0)
    assert refusals(result) == {"a.test:22": PORT_BLOCKED}


def test_an_address_that_was_granted_is_reached_and_no_other(granted: Server) -> None:
    result = behind_a_gate(
        f"""
print(reach("127.0.0.1", {granted.port})[:3], reach("::1", {granted.port}, family=socket.AF_INET6)[:3])
print(reach("127.0.0.1", {granted.port + 1}), reach("127.0.0.2", {granted.port}))
""",
        f"localhost:{granted.port}",
    )
    assert said(result) == ["got got", "ConnectionRefusedError ConnectionRefusedError"]


def test_datagrams_other_than_questions_are_refused_at_once() -> None:
    result = behind_a_gate(
        """
for place in (("192.0.2.1", 443), ("192.0.2.1", 123), (socket.gethostbyname("a.test"), 443)):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(place)
    began = time.monotonic()
    try:
        s.send(b"x" * 1200); s.recv(100); print("answered")
    except OSError as e:
        print(type(e).__name__, time.monotonic() - began < 1)
""",
        "a.test=127.0.0.1",
    )
    assert said(result) == ["ConnectionRefusedError True"] * 3
    assert refusals(result) == {
        "192.0.2.1:443": DATAGRAM,
        "192.0.2.1:123": DATAGRAM,
        "a.test:443": DATAGRAM,
    }


def test_datagrams_of_a_command_to_itself_are_its_own_affair() -> None:
    script = """
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    s = socket.socket(family, socket.SOCK_DGRAM); s.bind((address, 9000)); s.settimeout(5)
    s.sendto(b"own", (address, 9000)); print(s.recv(10))
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendto(b"x", ("2001:db8::7", 443))
time.sleep(2)  # the gate looks while the command runs
"""
    result = behind_a_gate(script, "a.test=127.0.0.1")
    assert said(result) == ["b'own'", "b'own'"]
    assert refusals(result) == {"[2001:db8::7]:443": DATAGRAM}


@pytest.mark.parametrize("pause", [0, 0.001], ids=["a flood", "a stream"])
def test_datagrams_without_end_keep_nobody_busy(pause: float) -> None:
    script = f"""
import time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(20000):
    s.sendto(b"x", ("192.0.2.1", 1024 + n % 40000))
    if {pause} and n % 20 == 0:
        time.sleep({pause})
print("ended by itself")
"""
    result = behind_a_gate(script, "a.test=127.0.0.1")
    assert (said(result), result.ok) == (["ended by itself"], True)
    assert 0 < len(refusals(result)) <= 1100


def test_no_other_kind_of_socket_is_to_be_had() -> None:
    result = behind_a_gate("""
for family, kind, number in ((2, 3, 1), (2, 2, 1), (10, 3, 58), (17, 3, 0), (40, 1, 0), (16, 3, 12),
                             (38, 5, 0), (2, 1, 132), (21, 5, 0), (44, 3, 0)):
    try:
        s = socket.socket(family, kind, number)
        print("made", family, kind, number)
    except OSError as e:
        pass
print("done")
""")
    assert said(result) == ["done"]


def test_the_way_of_packets_cannot_be_changed_from_inside() -> None:
    result = behind_a_gate("""
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, 0)); s.settimeout(2)
def change(kind, body):
    s.send(struct.pack("IHHII", 16 + len(body), kind, 0x405, 1, 0) + body)
    return -struct.unpack("i", s.recv(4096)[16:20])[0]
def attribute(kind, value): return struct.pack("HH", 4 + len(value), kind) + value
route = struct.pack("BBBBBBBBI", 2, 0, 0, 0, 255, 3, 254, 2, 0) + attribute(4, struct.pack("I", 1))
link = struct.pack("BxHiII", 0, 0, 1, 0, 1)
print(change(25, route), change(16, link))
""")
    assert said(result) == ["1 1"]


def test_a_socket_without_a_path_of_the_machines_is_not_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listens:
        listens.bind("\0redoma-test-abstract")
        listens.listen()
        result = behind_a_gate("""
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
try:
    s.connect("\\0redoma-test-abstract"); print("reached")
except OSError as e:
    print(type(e).__name__)
""")
    assert said(result) == ["ConnectionRefusedError"]


def test_no_connection_of_the_callers_comes_along(granted: Server) -> None:
    with socket.create_connection(("127.0.0.1", granted.port)) as ours:
        ours.set_inheritable(True)
        result = behind_a_gate("""
import stat
found = []
for number in range(3, 1024):
    try:
        found += [number] if stat.S_ISSOCK(os.fstat(number).st_mode) else []
    except OSError:
        pass
print(found)
""")
    assert (said(result), granted.heard) == (["[]"], [])


def test_the_gates_own_port_leads_nowhere() -> None:
    result = behind_a_gate('print(reach("127.0.0.1", 1), reach("::1", 1, family=10))')
    assert said(result) == ["ConnectionResetError ConnectionResetError"]


def test_nothing_of_ours_can_be_listened_to_inside() -> None:
    """A command cannot take the gate's place, nor listen where its questions are answered."""
    result = behind_a_gate("""
for kind, port in ((1, 1), (1, 53), (2, 53)):
    s = socket.socket(socket.AF_INET, kind)
    try:
        s.bind(("127.0.0.1", port)); print("bound", port)
    except OSError as e:
        print(type(e).__name__)
""")
    assert said(result) == ["PermissionError"] * 3
    assert result.outcome is Outcome.EXITED


def test_this_machine_is_not_reached_by_any_other_of_its_addresses() -> None:
    script = """
from tests.escape.gated import *
places = [address("8.8.4.4"), address("2600::7")]
import time; time.sleep(1.5)  # an address of IPv6 is tried out before it is used
servers = [Server(host="8.8.4.4")]
names = [f"{name}:{servers[0].port}" for name in ("four.test", "six.test")]
print(said(behind_a_gate(f"print(reach('four.test', {servers[0].port}), reach('six.test', {servers[0].port}))", *names)))
for reach in (host_rules.Reach(anyone=True),):
    result = behind_a_gate(f"print(reach('8.8.4.4', {servers[0].port}), reach('2600::7', 80, family=10), reach('four.test', {servers[0].port}))", reach=reach)
    print(said(result), sorted(set(refusals(result).values())))
print(servers[0].accepted)
"""
    assert on_a_machine({"four.test": "8.8.4.4", "six.test": "2600::7"}, script) == [
        "['gaierror gaierror']",
        f"['ConnectionResetError ConnectionResetError gaierror'] {sorted({OWN_ADDRESS})!r}",
        "0",
    ]


def test_metadata_services_are_reached_by_no_open_network() -> None:
    places = "169.254.169.254 169.254.170.2 100.100.100.200 192.0.0.192 168.63.129.16".split()
    sixes = "fd00:ec2::254 fd20:ce::254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe".split()
    script = f"""
for each in {places!r}: print(reach(each, 80))
for each in {sixes!r}: print(reach(each, 80, family=10))
"""
    result = behind_a_gate(script, reach=Reach(anyone=True))
    assert said(result) == ["ConnectionResetError"] * 9


def test_a_name_that_leads_to_a_metadata_service_leads_nowhere() -> None:
    hosts = {"a.test": "100.100.100.200", "b.test": "fd00:ec2::254", "c.test": "192.0.0.192"}
    script = """
from tests.escape.gated import *
result = behind_a_gate("print(reach('a.test', 80), reach('b.test', 80), reach('c.test', 80))", reach=host_rules.Reach(anyone=True))
print(said(result), sorted(set(refusals(result).values())))
"""
    assert on_a_machine(hosts, script) == [
        f"['gaierror gaierror gaierror'] {sorted({METADATA_ADDRESS, NOT_PUBLIC})!r}"
    ]
