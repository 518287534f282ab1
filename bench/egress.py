"""What the gate costs: new connections, throughput, and a thousand connections at one time.

    python bench/egress.py            # everything, some twenty seconds

Bare loopback and a bridge of two processes, as `socat` makes them, stand beside it in one run. Each
is measured from where the command would be: inside the sandbox for the gate, outside for the
others. Trust the ratios; the machine is never quiet.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from redoma.egress.grants import gated
from redoma.egress.host_rules import read
from redoma.jail.engines.choice import plan
from redoma.jail.profiles.profile import load
from redoma.model.grant import Grant, Guarantee, Writes
from redoma.model.request import Program, Request
from redoma.model.value import replace
from redoma.pipeline.execute import execute
from redoma.pipeline.this_host import this_host

PYTHON = "/usr/bin/python3"
CONNECTIONS, MEGABYTES, AT_ONCE = 400, 2000, 1000
# Run by the command itself: it knows only where to connect.
CLIENT = """
import json, socket, statistics, sys, time
host, port, connections, megabytes, at_once = sys.argv[1], *map(int, sys.argv[2:6])
place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][:2]
def connect():
    s = socket.socket(socket.AF_INET6 if ":" in place[0] else socket.AF_INET)
    s.connect(place)
    return s
took = []
for _ in range(connections):
    began = time.perf_counter()
    s = connect(); s.send(b"e"); s.recv(1)
    took.append(time.perf_counter() - began)
    s.close()
s = connect(); s.send(b"d"); buffer = bytearray(1 << 20); left = megabytes << 20
began = time.perf_counter()
while left > 0:
    left -= s.recv_into(buffer)
rate = megabytes / 1024 / (time.perf_counter() - began)
s.close()
open_ones = []
began = time.perf_counter()
for _ in range(at_once):
    s = connect(); s.send(b"e"); open_ones.append(s)
answered = sum(len(s.recv(1)) for s in open_ones)
print(json.dumps({"median_ms": statistics.median(took) * 1e3, "gb_per_second": rate,
                  "answered": answered, "all_ms": (time.perf_counter() - began) * 1e3}))
"""
# Answers each connection by its first byte: an echo, or as many zeroes as are taken.
SERVER = """
import socket, threading
listens = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(listens.getsockname()[1], flush=True)
def talk(client):
    try:
        while data := client.recv(1):
            if data == b"e":
                client.send(data)
            else:
                block = bytes(1 << 20)
                while True:
                    client.sendall(block)
    except OSError:
        pass
    client.close()
threading.stack_size(1 << 16)
while True:
    threading.Thread(target=talk, args=(listens.accept()[0],), daemon=True).start()
"""
# A relay as people write it: accept, connect, two threads that copy.
BRIDGE = """
import socket, sys, threading
listens = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(listens.getsockname()[1], flush=True)
def copy(a, b):
    try:
        while data := a.recv(1 << 16):
            b.sendall(data)
        b.shutdown(1)
    except OSError:
        pass
def relay(client):
    host = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=copy, args=(host, client), daemon=True).start()
    copy(client, host)
threading.stack_size(1 << 16)
while True:
    threading.Thread(target=relay, args=(listens.accept()[0],), daemon=True).start()
"""


def bare(port: int, at_once: int) -> dict[str, float]:
    """The client outside, without anything in between."""
    argv = [PYTHON, "-c", CLIENT, "127.0.0.1", *map(str, (port, CONNECTIONS, MEGABYTES, at_once))]
    made: dict[str, float] = json.loads(
        subprocess.run(argv, check=True, capture_output=True).stdout
    )
    return made


def direct(grant: Grant) -> Grant:
    """The same, written directly: nothing is to be applied here."""
    return replace(grant, writes=Writes.DIRECT, require=grant.require - {Guarantee.CHANGES_HELD})


def through_the_gate(port: int, place: str) -> tuple[dict[str, float], float]:
    """The client in a sandbox, and by how many kilobytes a thousand connections made us grow."""
    grant = direct(load("standard").grant(place))
    reach = replace(read([f"server.test:7=127.0.0.1:{port}"]), max_connections=AT_ONCE + 10)
    limits = replace(grant.limits, open_files=4096, wall_seconds=120.0)
    grant = replace(gated(grant, reach), limits=limits)
    argv = (PYTHON, "-c", CLIENT, "server.test", *map(str, (7, CONNECTIONS, MEGABYTES, AT_ONCE)))
    found, grown = in_an_enclosure(argv, grant)
    return found, grown / 1024


def in_an_enclosure(argv: tuple[str, ...], grant: Grant) -> tuple[dict[str, float], int]:
    """What a client found inside, and by how many bytes this process grew meanwhile."""
    execute(plan(Request(workload=Program(argv=("/bin/true",))), grant, this_host()), this_host())
    made = plan(Request(workload=Program(argv=argv)), grant, this_host())
    before = memory()
    peak, over = [before], threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            peak[0] = max(peak[0], memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = execute(made, this_host())
    over.set()
    watcher.join()
    if not result.ok:
        sys.exit(f"the client failed: {result.stderr.decode()} {result.network_calls}")
    return json.loads(result.stdout), peak[0] - before


def memory() -> int:
    """Our own resident bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def launches(place: str) -> tuple[float, float]:
    """Median milliseconds of `true` with a closed network, and with a gate."""
    import time

    closed = direct(load("standard").grant(place))
    behind = gated(closed, read(["server.test"]))
    took: dict[bool, list[float]] = {True: [], False: []}
    for number in range(60):
        grant = behind if number % 2 else closed
        made = plan(Request(workload=Program(argv=("/bin/true",))), grant, this_host())
        began = time.perf_counter()
        execute(made, this_host())
        took[bool(number % 2)].append((time.perf_counter() - began) * 1e3)
    return statistics.median(took[False]), statistics.median(took[True])


def started(script: str, *arguments: str) -> tuple[subprocess.Popen[str], int]:
    """A process of ours, and the port that it says."""
    made = subprocess.Popen(
        [PYTHON, "-c", script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert made.stdout is not None
    return made, int(made.stdout.readline())


def main() -> None:
    """Prints one line for each way, and the ratios."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    place = tempfile.mkdtemp(prefix="rdm-bench-", dir="/var/tmp")
    server, port = started(SERVER)
    bridge, bridge_port = started(BRIDGE, str(port))
    try:
        with socket.create_connection(("127.0.0.1", port)) as first:
            first.send(b"e")
            first.recv(1)
        lines = {"bare loopback": bare(port, AT_ONCE)}
        lines["through the gate"], grown = through_the_gate(port, place)
        lines["a bridge of threads"] = bare(bridge_port, AT_ONCE)
        closed, behind = launches(place)
    finally:
        for process in (server, bridge):
            process.kill()
            process.wait()
        os.rmdir(place)
    base = lines["bare loopback"]
    for name, found in lines.items():
        print(
            f"{name:20} new connection {found['median_ms']:6.3f} ms"
            f" (+{found['median_ms'] - base['median_ms']:.3f})"
            f"   {found['gb_per_second']:5.2f} GB/s ({found['gb_per_second'] / base['gb_per_second']:4.0%})"
            f"   {AT_ONCE} at once in {found['all_ms']:5.0f} ms, {found['answered']:.0f} answered"
        )
    print(f"memory of the gate: {grown:+.0f} kB at {AT_ONCE} connections")
    print(f"launch of `true`: network closed {closed:.1f} ms, behind a gate {behind:.1f} ms")


if __name__ == "__main__":
    main()
