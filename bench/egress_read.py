"""What reading requests costs: requests, connections, throughput, and many at one time.

    python bench/egress_read.py            # some minutes: a GiB each way
    python bench/egress_read.py --quick    # a tenth of it

TLS on bare loopback, through the gate unread, and read with a certificate of the run's own, and
HTTP without TLS in the same ways, in one run and by the same client. Trust the ratios; the machine is never quiet.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from egress import PYTHON, direct, in_an_enclosure, started
from redoma.egress.grants import gated
from redoma.egress.host_rules import read
from redoma.jail.profiles.profile import load
from redoma.model.value import replace

CONNECTIONS, REQUESTS, AT_ONCE = 50, 1000, 500
MEGABYTES = 100 if "--quick" in sys.argv else 1024
CLIENT = """
import json, socket, ssl, statistics, sys, time
host, port, connections, requests, megabytes, at_once = sys.argv[1], *map(int, sys.argv[2:7])
place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][:2]
plain = sys.argv[8] == "http"
context = ssl.create_default_context(cafile=sys.argv[7] or None)
def connect():
    s = socket.create_connection(place)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s if plain else context.wrap_socket(s, server_hostname="server.test")
def ask(s, path):
    s.sendall(f"GET {path} HTTP/1.1\\r\\nHost: server.test:{port}\\r\\n\\r\\n".encode())
    got = b""
    while b"\\r\\n\\r\\n" not in got:
        got += s.recv(65536)
    return got.partition(b"\\r\\n\\r\\n")[2]
def median(took): return statistics.median(took) * 1e3
new, kept = [], []
for _ in range(connections):
    began = time.perf_counter()
    s = connect(); ask(s, "/small"); s.close()
    new.append(time.perf_counter() - began)
s = connect()
for _ in range(requests):
    began = time.perf_counter()
    ask(s, "/small")
    kept.append(time.perf_counter() - began)
buffer = bytearray(1 << 18)
began = time.perf_counter()
left = (megabytes << 20) - len(ask(s, f"/big/{megabytes}"))
while left > 0:
    left -= s.recv_into(buffer)
rate = megabytes / (time.perf_counter() - began)
began = time.perf_counter()
many = [connect() for _ in range(at_once)]
answered = sum(ask(each, "/small") == b"ok" for each in many)
print(json.dumps({"new": median(new), "kept": median(kept), "rate": rate,
                  "answered": answered, "all": time.perf_counter() - began}))
"""
SERVER = """
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
listens = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(listens.getsockname()[1], flush=True)
block = bytes(1 << 20)
def talk(client):
    try:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if client.recv(1, socket.MSG_PEEK) == b"\\x16":
            client = context.wrap_socket(client, server_side=True)
        got = b""
        while data := client.recv(65536):
            got += data
            while b"\\r\\n\\r\\n" in got:
                head, _, got = got.partition(b"\\r\\n\\r\\n")
                path = head.split()[1].decode()
                if path == "/small":
                    client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
                    continue
                size = int(path.rpartition("/")[2])
                client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % (size << 20))
                for _ in range(size):
                    client.sendall(block)
    except OSError:
        pass
    client.close()
threading.stack_size(1 << 17)
while True:
    threading.Thread(target=talk, args=(listens.accept()[0],), daemon=True).start()
"""


def command(host: str, port: int, bundle: str, scheme: str) -> list[str]:
    """The client, told where to go and whom to trust."""
    numbers = (port, CONNECTIONS, REQUESTS, MEGABYTES, AT_ONCE)
    return [PYTHON, "-c", CLIENT, host, *map(str, numbers), bundle, scheme]


def enclosed(
    port: int, place: str, scheme: str, *, inspect: bool
) -> tuple[dict[str, float], float]:
    """The client in a sandbox, and by how many megabytes this process grew meanwhile."""
    grant = direct(load("standard").grant(place))
    reach = read([f"server.test:{port}=127.0.0.1:{port}"])
    reach = replace(reach, max_connections=AT_ONCE + 10, inspect=inspect)
    limits = replace(grant.limits, open_files=4096, wall_seconds=300.0)
    grant = replace(gated(grant, reach), limits=limits)
    argv = command("server.test", port, "" if inspect else f"{place}/cert.pem", scheme)
    found, grown = in_an_enclosure(tuple(argv), grant)
    return found, grown / (1 << 20)


def main() -> None:
    """Prints one line for each way."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    place = tempfile.mkdtemp(prefix="rdm-bench-", dir="/var/tmp")
    os.chmod(place, 0o755)
    make = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=server.test"
    )
    files = ["-keyout", f"{place}/key.pem", "-out", f"{place}/cert.pem"]
    own = ["openssl", *make.split(), "-addext", "subjectAltName=DNS:server.test", *files]
    subprocess.run(own, check=True, capture_output=True)
    os.environ["SSL_CERT_FILE"] = f"{place}/cert.pem"
    server, port = started(SERVER, f"{place}/cert.pem", f"{place}/key.pem")
    try:
        found: dict[str, tuple[dict[str, float], float]] = {}
        for scheme in ("https", "http"):
            argv = command("127.0.0.1", port, f"{place}/cert.pem", scheme)
            bare = subprocess.run(argv, check=True, capture_output=True)
            found[f"{scheme}, bare"] = (json.loads(bare.stdout), 0.0)
            found[f"{scheme}, gate"] = enclosed(port, place, scheme, inspect=False)
            found[f"{scheme}, inspected"] = enclosed(port, place, scheme, inspect=True)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(place)
    for name, (told, grown) in found.items():
        base = found[f"{name.partition(',')[0]}, bare"][0]
        print(
            f"{name:16}"
            f" new {told['new']:6.2f} ms ({told['new'] / base['new']:5.2f} x)"
            f"   kept {told['kept']:6.3f} ms ({told['kept'] / base['kept']:5.2f} x)"
            f"   {told['rate']:5.0f} MB/s ({told['rate'] / base['rate']:4.2f} x)"
            f"   {AT_ONCE} at once: {told['answered']:.0f} answered in"
            f" {told['all']:4.1f} s, {grown:+.0f} MB"
        )


if __name__ == "__main__":
    main()
