"""Requests that servers may read in other ways than the gate, and three servers that say how.

A run sends them through a gate whose rule is `GET h.test/ok/**`. Whatever a server takes for a
request is written down by that server, its path as the server itself makes it plain. Each of these
has to be one that the rule grants: what else is read there has come past the gate.
"""

from __future__ import annotations

import base64
import json
import posixpath
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

from redoma.egress.host_rules import read
from redoma.model.value import replace
from tests.escape.gated import PYTHON, run, workspace

NAME = "h.test"
HIDDEN = b"DELETE /admin HTTP/1.1\r\nHost: h.test\r\n\r\n"
_METHODS = [b"GET"] * 8 + b"HEAD POST DELETE get G\xc9T PRI CONNECT OPTIONS QUERY".split()
_PATHS = (
    b"/ok/f /ok/a/b /ok/ /ok /admin /ok/../admin /ok/%2e%2e/admin /ok/..%2fadmin /ok/%2e%2e%2fadmin"
    b" /ok/..;/admin /ok/.%2e/admin /ok//../admin /ok/\\../admin /ok/..\\admin /ok/%5c..%5cadmin"
    b" /ok%2f..%2fadmin /ok/%252e%252e/admin /ok/x%00/../admin /ok/x?y=/../admin /ok/x#/../../admin"
    b" /ok/%3f/../../admin /ok/%23/../../admin /ok/..%20/admin /ok/%0a/../admin /ok/..%0d/admin"
    b" http://h.test/admin http://h.test/ok/f http://other.test/ok/f //h.test/admin /ok/./../admin"
    b" /ok/\xef\xbc\x8e\xef\xbc\x8e/admin /ok/%c0%ae%c0%ae/admin /ok/%u002e%u002e/admin * /%6fk/f"
    b" /OK/f /ok/f%20HTTP/1.1 admin ok/f /ok/f;/../../admin /ok/%2E%2E;x=1/admin /ok/.../f"
).split()
_VERSIONS = [b"HTTP/1.1"] * 9 + [b"HTTP/1.0", b"HTTP/1.2", b"http/1.1", b"HTTP/1.1 ", b"HTTP/2.0"]
_ENDS = [b"\r\n"] * 12 + [b"\n", b"\r", b"\r\r\n", b"\r\n "]
_HOSTS = [b"Host: h.test"] * 9 + [
    *(b"Host: H.TEST", b"Host: h.test:80", b"Host: other.test", b"Host : h.test", b"Host: h.test."),
    *(
        b"Host:h.test",
        b"Host: h.test\r\nHost: other.test",
        b"Host: h\xc2\xad.test",
        b"Host:\th.test",
    ),
]
_FRAMING = (
    b"Content-Length: {n}|Content-Length: 0|Content-Length: +{n}|Content-Length: {n}, {n}"
    b"|Content-Length: 0{n}|Content-Length: 0x2|Content-Length : {n}|content-length:{n}"
    b"|Content-Length: {n}\r\nContent-Length: 0|Content-Length: 0\r\nContent-Length: {n}"
    b"|Transfer-Encoding: chunked|Transfer-Encoding: chunked\r\nContent-Length: {n}"
    b"|Transfer-Encoding: identity|Transfer-Encoding : chunked|Transfer-Encoding: xchunked"
    b"|Transfer-Encoding:\x0bchunked|Transfer-Encoding: chunked, identity|X: y\r\n folded: z"
    b"|Transfer-Encoding\r\n : chunked|Transfer-Encoding: gzip, chunked|TE: chunked"
    b"|X-HTTP-Method-Override: DELETE|X-Original-URL: /admin|Connection: Content-Length"
    b"|Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk"
    b"|Expect: 100-continue\r\nContent-Length: {n}|X\x00: y|X: \x00y|: y|X: y\rDELETE /admin"
).split(b"|")
# Runs inside: every request by a connection of its own, several at a time.
_SENDER = """
import base64, json, queue, socket, threading
todo = queue.SimpleQueue()
for line in json.load(open("requests.json")): todo.put(line)
answered = [0]
def work():
    while True:
        try: text = todo.get_nowait()
        except queue.Empty: return
        try:
            with socket.create_connection(("h.test", 80), timeout=5) as s:
                s.sendall(base64.b64decode(text)); s.settimeout(0.25)
                while part := s.recv(65536):
                    answered[0] += b"200" in part[:20]; s.settimeout(0.02)
        except OSError: pass
threads = [threading.Thread(target=work) for _ in range(12)]
[t.start() for t in threads]; [t.join() for t in threads]
print("sent", answered[0])
"""
_PYTHON_SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
log = open(sys.argv[1], "a", buffering=1)
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5
    def __getattr__(self, name):
        if not name.startswith("do_"): raise AttributeError(name)
        return self.answer
    def answer(self):  # a body is left where it is, as such servers do
        log.write(json.dumps([self.command, self.path, self.headers.get("Host")]) + "\\n")
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.handle_error = lambda *_: None
print(server.server_address[1], flush=True)
server.serve_forever()
"""
_NODE_SERVER = """
const http = require("http"), fs = require("fs");
const server = http.createServer({insecureHTTPParser: true, requireHostHeader: false}, (q, a) => {
  fs.appendFileSync(process.argv[1], JSON.stringify([q.method, q.url, q.headers.host || ""]) + "\\n");
  a.end();
});
server.on("connect", (q, s) => { fs.appendFileSync(process.argv[1], JSON.stringify([q.method, q.url, ""]) + "\\n"); s.end(); });
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


def requests(seed: int, count: int) -> Iterator[bytes]:
    """So many texts that are sent as requests, the same ones for the same seed."""
    dice = random.Random(seed)
    for _ in range(count):
        made = b"".join(_one(dice) for _ in range(dice.choice((1, 1, 1, 2))))
        if dice.random() < 0.1:
            at = dice.randrange(len(made))
            made = made[:at] + bytes((dice.randrange(256),)) + made[at + dice.randrange(2) :]
        yield made


def _one(dice: random.Random) -> bytes:
    if dice.random() < 0.35:  # one thing odd at most: what is odd in two ways is refused early
        method, path = dice.choice((b"GET", b"GET", b"HEAD")), dice.choice(_PATHS)
        host = dice.choice(_HOSTS) if path == b"/ok/f" else b"Host: h.test"
        return b"%s %s HTTP/1.1\r\n%s\r\n\r\n" % (method, path, host)
    body = dice.choice((b"", b"", HIDDEN, b"0\r\n\r\n" + HIDDEN, b"1\r\nx\r\n0\r\n\r\n" + HIDDEN))
    end = dice.choice(_ENDS)
    space = dice.choice([b" "] * 12 + [b"  ", b"\t", b" " * 12, b"\x0b"])
    path = dice.choice(_PATHS)
    if dice.random() < 0.5:
        path = b"/ok/f"
    line = space.join((dice.choice(_METHODS), path, dice.choice(_VERSIONS)))
    lines = [line, dice.choice(_HOSTS)]
    for _ in range(dice.choice((0, 0, 1, 1, 2))):
        lines.append(dice.choice(_FRAMING).replace(b"{n}", b"%d" % len(body)))
    return end.join(lines) + end + dice.choice((end, end, b"\r\n")) + body


class ReadingServer:
    """A real server, and the requests that it read."""

    def __init__(self, port: int, log: Path, plain: Callable[[str], str]) -> None:
        self.port = port
        self._log = log
        self._plain = plain

    def read(self) -> list[tuple[str, str, str]]:
        """(method, path, host) of each request, the path as this server makes it plain."""
        time.sleep(0.3)
        found = []
        for line in self._log.read_bytes().decode("utf-8", "surrogateescape").splitlines():
            with suppress(ValueError):
                method, path, host = json.loads(line)
                found.append((method, self._plain(path), host or ""))
        return found


def _by_python(path: str) -> str:
    """As `SimpleHTTPRequestHandler` finds a file."""
    return posixpath.normpath(unquote(path.partition("?")[0].partition("#")[0]))


def _by_node(path: str) -> str:
    """As `new URL(…).pathname` and a decoding that many servers put behind it."""
    plain = path.partition("?")[0].partition("#")[0]
    if "://" in plain:
        plain = "/" + plain.partition("://")[2].partition("/")[2]
    return posixpath.normpath(unquote(plain).replace("\\", "/"))


def not_granted(read: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Those that `GET h.test/ok/**` does not grant."""
    return [
        each
        for each in read
        if each[0] not in ("GET", "HEAD")
        or not each[1].startswith("/ok")
        or each[1][3:4] not in ("", "/")
        or each[2].lower() not in (NAME, f"{NAME}:80")
    ]


@contextmanager
def server(kind: str, place: Path) -> Iterator[ReadingServer]:
    """A server of Python's, of Node's, or nginx; its program has to be there."""
    log = place / "log"
    log.touch()
    if kind == "nginx":
        port, command = _nginx(place, log)
    elif kind == "node":
        port, command = 0, [shutil.which("node") or "node", "-e", _NODE_SERVER, str(log)]
    else:
        port, command = 0, [PYTHON, "-c", _PYTHON_SERVER, str(log)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=place
    )
    try:
        assert process.stdout is not None
        port = port or int(process.stdout.readline())
        if kind == "nginx":
            _answers(port)
        plain = {"python": _by_python, "node": _by_node}.get(kind, lambda path: path)
        yield ReadingServer(port, log, plain)
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _nginx(place: Path, log: Path) -> tuple[int, list[str]]:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    said = '["$request_method","$uri","$host"]'
    (place / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {place}/pid; error_log /dev/null;\n"
        "events {}\n"
        f"http {{ log_format j escape=json '{said}'; access_log {log} j;\n"
        + "".join(
            f"{each}_temp_path {place}/t;\n"
            for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        + f"server {{ listen 127.0.0.1:{port}; location / {{ return 200; }} }} }}\n"
    )
    return port, [shutil.which("nginx", path="/usr/sbin:/usr/bin") or "nginx", "-c", f"{place}/nginx.conf", "-p", str(place)]  # fmt: skip


def _answers(port: int) -> None:
    import socket

    for _ in range(100):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)


def passed(
    kind: str, seed: int, count: int, scratch: Path
) -> tuple[int, list[tuple[str, str, str]]]:
    """How many requests a server read of so many that were sent, and those that were not granted."""
    with server(kind, scratch) as host, workspace() as place:
        texts = [base64.b64encode(each).decode() for each in requests(seed, count)]
        (place / "requests.json").write_text(json.dumps(texts), encoding="utf-8")
        (place / "sender.py").write_text(_SENDER, encoding="utf-8")
        rule = f"GET {NAME}:80/ok/**=127.0.0.1:{host.port}"
        reach = replace(read([rule]), inspect=True, max_refusals=1_000_000)
        result = run([PYTHON, "sender.py"], place, reach=reach)
        assert result.stdout.startswith(b"sent"), (result.outcome, result.stderr[-2000:])
        found = host.read()
    return len(found), not_granted(found)
