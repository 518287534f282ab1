"""A gate that is flooded or lost ends the run; it never lets anything through instead."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

import pytest

from redoma.egress.host_rules import read
from redoma.model.errors import UsageError
from redoma.model.network import TOO_MUCH
from redoma.model.result import Outcome, Result
from redoma.model.value import replace
from tests.escape.gated import Server, behind_a_gate, refusals, said

pytestmark = pytest.mark.both_users


def test_a_flood_of_refused_connections_ends_the_run() -> None:
    script = """
while True:
    reach("192.0.2.1", 443)
"""
    result = behind_a_gate(script, reach=replace(read([]), max_refusals=300))
    assert result.outcome is Outcome.TOO_MANY_CONNECTIONS
    assert result.network_calls is not None
    assert result.network_calls[0].times >= 300


def test_a_flood_of_questions_ends_the_run() -> None:
    script = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("192.0.2.53", 53))
n = 0
while True:
    n += 1
    name = f"{n:08d}".encode()
    s.send(struct.pack("!HHHHHH", 7, 256, 1, 0, 0, 0) + b"\\x08" + name + b"\\4evil\\4test\\0\\0\\1\\0\\1")
    time.sleep(0.0001)
"""
    result = behind_a_gate(script, reach=replace(read([]), max_refusals=2000))
    assert result.outcome is Outcome.TOO_MANY_CONNECTIONS
    assert result.network_calls is not None
    assert len(result.network_calls) <= 2100  # those that came with the last one


def test_a_flood_of_questions_that_are_answered_ends_the_run_as_well() -> None:
    script = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("192.0.2.53", 53))
while True:
    s.send(struct.pack("!HHHHHH", 7, 256, 1, 0, 0, 0) + b"\\1a\\4test\\0\\0\\1\\0\\1"); s.recv(512)
"""
    result = behind_a_gate(script, reach=replace(read(["a.test=127.0.0.1"]), max_refusals=50))
    assert (result.outcome, refusals(result)) == (Outcome.TOO_MANY_CONNECTIONS, {})


def test_connections_over_the_limit_wait_their_turn() -> None:
    server = Server()
    script = """
opened = []
for n in range(8):
    s = socket.create_connection(("a.test", 7000)); s.settimeout(0.5); s.send(b"x\\n")
    opened.append(s)
served = 0
for s in opened:
    try:
        served += bool(s.recv(10))
    except OSError:
        pass
print(served)
later = 0
for s in opened:
    s.settimeout(5)
for s in opened[:3]:
    s.close()
for s in opened[3:]:
    later += bool(s.recv(10)); s.close()
print(later)
"""
    reach = read([f"a.test:7000=127.0.0.1:{server.port}"], max_connections=3)
    result = behind_a_gate(script, reach=reach)
    server.close()
    assert (said(result), refusals(result)) == (["3", "5"], {})


def test_two_hundred_connections_at_once_are_all_served() -> None:
    server = Server()
    script = """
import threading
got = []
def talk():
    with socket.create_connection(("a.test", 7000)) as s:
        s.settimeout(20); s.send(b"x\\n"); got.append(s.recv(10))
threads = [threading.Thread(target=talk) for _ in range(200)]
for t in threads: t.start()
for t in threads: t.join(30)
print(len(got), all(got))
"""
    result = behind_a_gate(script, f"a.test:7000=127.0.0.1:{server.port}")
    server.close()
    assert (said(result), refusals(result)) == (["200 True"], {})


def test_no_more_bytes_than_granted_go_through() -> None:
    server = Server(b"y" * 1000)
    script = """
s = socket.create_connection(("a.test", 7000)); s.settimeout(5)
total = 0
try:
    for n in range(1000):
        s.send(b"x"); total += len(s.recv(1000))
except OSError as e:
    print(type(e).__name__, total < 50_000)
"""
    reach = replace(read([f"a.test:7000=127.0.0.1:{server.port}"]), max_bytes=20_000)
    result = behind_a_gate(script, reach=reach)
    server.close()
    assert said(result)[0].endswith("True")
    assert refusals(result) == {"a.test:7000": TOO_MUCH}


def test_a_gate_that_is_lost_ends_the_run() -> None:
    server = Server()
    results: list[Result] = []
    before = set(os.listdir("/proc/self/fd"))

    def work() -> None:
        script = """
while True:
    reach("a.test", 7000, b"x"); time.sleep(0.01)
"""
        results.append(behind_a_gate(script, f"a.test:7000=127.0.0.1:{server.port}"))

    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + 20
    while not server.heard and time.monotonic() < end:
        time.sleep(0.01)
    for number in set(os.listdir("/proc/self/fd")) - before:
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{number}") == "anon_inode:[eventpoll]":
                null = os.open("/dev/null", os.O_RDONLY)
                os.dup2(null, int(number))  # as if it broke: the gate's next look fails
                os.close(null)
    thread.join(20)
    server.close()
    assert [result.outcome for result in results] == [Outcome.GATE_LOST]


@pytest.mark.parametrize("level", ["strict", "maximum"])
def test_a_level_without_a_network_gets_none(level: str) -> None:
    with pytest.raises(UsageError) as error:
        behind_a_gate("", "a.test", level=level)
    assert error.value.hint == 'level="standard"'


def test_runs_side_by_side_have_each_a_gate_of_their_own() -> None:
    servers = [Server(b"one"), Server(b"two")]
    results: list[list[str]] = [[], []]

    def work(number: int) -> None:
        own, other = f"n{number}.test", f"n{1 - number}.test"
        script = f"""
for _ in range(20):
    time.sleep(0.01); print(reach("{own}", 7000, b"x"), ask("{other}")[0])
"""
        rule = f"{own}:7000=127.0.0.1:{servers[number].port}"
        results[number] = sorted(set(said(behind_a_gate(script, rule))))

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for server in servers:
        server.close()
    assert results == [["got b'one' 3"], ["got b'two' 3"]]


def test_nothing_is_left_of_a_gate() -> None:
    behind_a_gate("", "a.test", reach=read(["a.test"], publish=[39_123]))
    before = sorted(os.listdir("/proc/self/fd")), threading.active_count()
    behind_a_gate("", "a.test", reach=read(["a.test"], publish=[39_123]))
    assert (sorted(os.listdir("/proc/self/fd")), threading.active_count()) == before
