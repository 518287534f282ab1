"""What agents use works behind a gate unchanged, and fails quickly and clearly without a grant."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import socketserver
import ssl
import subprocess
import threading
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import Network, Sandbox
from redoma.audit.entries import AuditReader
from redoma.egress.host_rules import read
from redoma.model.policy import BUILT_IN
from tests.escape.gated import PYTHON, Server, certificate, run, said, workspace

pytestmark = pytest.mark.both_users

NAME = "packages.test"


class Web:
    """A web server of files on this machine, known inside by a name of its own."""

    def __init__(self, place: Path, context: ssl.SSLContext | None = None) -> None:
        handler = functools.partial(Quiet, directory=str(place))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def rule(self) -> str:
        return f"{NAME}=127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_PUT(self) -> None:
        size = len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", str(len(str(size))))
        self.end_headers()
        self.wfile.write(str(size).encode())


@pytest.fixture
def place() -> Iterator[Path]:
    with workspace() as made:
        yield made


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "hello.txt").write_text("hello\n")
    return tmp_path


@pytest.fixture
def web(files: Path) -> Iterator[Web]:
    made = Web(files)
    yield made
    made.close()


@pytest.fixture
def secure(files: Path, tmp_path_factory: pytest.TempPathFactory, place: Path) -> Iterator[Web]:
    """The same by TLS; its certificate lies in the workspace, to be trusted there."""
    keys = tmp_path_factory.mktemp("keys")
    made = Web(files, certificate(keys, NAME))
    shutil.copyfile(keys / "cert.pem", place / "ca.pem")
    yield made
    made.close()


def needs(program: str) -> str:
    found = shutil.which(program, path="/usr/local/bin:/usr/bin:/bin")
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


@pytest.mark.parametrize("version", ["-4", "-6"])
def test_curl(web: Web, place: Path, version: str) -> None:
    result = run([needs("curl"), "-sS", version, f"http://{NAME}/hello.txt"], place, web.rule)
    assert (said(result), result.ok) == (["hello"], True)


def test_curl_by_tls(secure: Web, place: Path) -> None:
    command = [needs("curl"), "-sS", "--cacert", "ca.pem", f"https://{NAME}/hello.txt"]
    assert said(run(command, place, secure.rule)) == ["hello"]


def test_curl_sends_a_large_file(web: Web, place: Path) -> None:
    (place / "large").write_bytes(b"x" * 3_000_000)
    for more in ((), ("-H", "Expect:")):
        command = [needs("curl"), "-sS", *more, "-T", "large", f"http://{NAME}/large"]
        assert said(run(command, place, web.rule)) == ["3000000"]


def test_wget(web: Web, place: Path) -> None:
    assert said(run([needs("wget"), "-qO-", f"http://{NAME}/hello.txt"], place, web.rule)) == [
        "hello"
    ]


def test_python(secure: Web, place: Path) -> None:
    script = f"""
import ssl, urllib.request
context = ssl.create_default_context(cafile="ca.pem")
print(urllib.request.urlopen("https://{NAME}/hello.txt", context=context).read())
"""
    assert said(run([PYTHON, "-c", script], place, secure.rule)) == ["b'hello\\n'"]


def test_node(web: Web, place: Path) -> None:
    script = (
        f"fetch('http://{NAME}/hello.txt').then(r => r.text()).then(t => console.log(t.trim()))"
    )
    assert said(run([needs("node"), "-e", script], place, web.rule)) == ["hello"]


def test_getent(web: Web, place: Path) -> None:
    found = said(run([needs("getent"), "ahosts", NAME], place, web.rule))
    assert {line.split()[0] for line in found} == {"198.18.0.16", "fd72:6564:6f6d:6100::10"}


def test_http_2_by_tls(place: Path, tmp_path: Path) -> None:
    node = needs("node")
    certificate(tmp_path, NAME)
    script = f"""
const h2 = require("http2"), fs = require("fs");
const server = h2.createSecureServer({{key: fs.readFileSync("{tmp_path}/key.pem"),
    cert: fs.readFileSync("{tmp_path}/cert.pem")}});
server.on("stream", s => {{ s.respond({{":status": 200}}); s.end("by two"); }});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""
    with subprocess.Popen([node, "-e", script], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        shutil.copyfile(tmp_path / "cert.pem", place / "ca.pem")
        command = [needs("curl"), "-sS", "--http2", "--cacert", "ca.pem", "-w", " %{http_version}"]
        result = run([*command, f"https://{NAME}/"], place, f"{NAME}=127.0.0.1:{port}")
        server.terminate()
    assert said(result) == ["by two 2"]


def test_websockets(place: Path) -> None:
    class Echo(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            head = b""
            while b"\r\n\r\n" not in head:
                head += self.request.recv(4096)
            self.request.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
            while data := self.request.recv(4096):
                self.request.sendall(data)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script = f"""
import socket
s = socket.create_connection(("{NAME}", 80))
s.send(b"GET / HTTP/1.1\\r\\nHost: {NAME}\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n")
print(s.recv(4096)[:12])
s.send(b"\\x81\\x85frame"); print(s.recv(4096))
"""
    result = run([PYTHON, "-c", script], place, f"{NAME}=127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    server.server_close()
    assert said(result) == ["b'HTTP/1.1 101'", "b'\\x81\\x85frame'"]


def test_a_host_that_speaks_first_is_heard(place: Path) -> None:
    server = Server(b"you said something", greeting=b"SSH-2.0-own\r\n")
    script = f"""
import socket
s = socket.create_connection(("{NAME}", 22)); s.settimeout(5)
print(s.recv(100)); s.send(b"SSH-2.0-client\\r\\n"); print(s.recv(100))
"""
    result = run([PYTHON, "-c", script], place, f"{NAME}:22=127.0.0.1:{server.port}")
    server.close()
    assert said(result) == ["b'SSH-2.0-own\\r\\n'", "b'you said something'"]


def test_git_clone_by_http(place: Path, tmp_path: Path, files: Path, web: Web) -> None:
    git = needs("git")
    work = tmp_path / "work"
    own = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([git, "init", "-q", str(work)], check=True)
    (work / "file").write_text("text\n")
    subprocess.run([git, "-C", str(work), "add", "file"], check=True)
    subprocess.run([git, "-C", str(work), *own, "commit", "-qm", "one"], check=True)
    bare = files / "repo.git"
    subprocess.run([git, "clone", "-q", "--bare", str(work), str(bare)], check=True)
    subprocess.run([git, "-C", str(bare), "update-server-info"], check=True)
    result = run([git, "clone", "-q", f"http://{NAME}/repo.git", "copy"], place, web.rule)
    assert (result.ok, (place / "copy" / "file").read_text()) == (True, "text\n")


def wheel(place: Path) -> None:
    """A package, and a page that lists it as an index does."""
    name = "everyday-0.1-py3-none-any.whl"
    listed = place / "simple" / "everyday"
    listed.mkdir(parents=True)
    with zipfile.ZipFile(listed / name, "w") as made:
        made.writestr("everyday.py", "answer = 42\n")
        made.writestr(
            "everyday-0.1.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: everyday\nVersion: 0.1\n",
        )
        made.writestr("everyday-0.1.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        made.writestr("everyday-0.1.dist-info/RECORD", "")
    (listed / "index.html").write_text(f'<a href="{name}">{name}</a>')


PIP = ["--disable-pip-version-check", "--no-cache-dir", "--retries", "0", "--no-deps"]


def test_pip_download(place: Path, files: Path, secure: Web) -> None:
    needs("pip3")
    wheel(files)
    command = [PYTHON, "-m", "pip", "download", *PIP, "--cert", "ca.pem"]
    command += ["--index-url", f"https://{NAME}/simple", "everyday"]
    result = run(command, place, secure.rule)
    assert (result.ok, [p.name for p in place.glob("*.whl")]) == (
        True,
        ["everyday-0.1-py3-none-any.whl"],
    ), result.stderr


def test_npm_view(place: Path, files: Path, web: Web) -> None:
    npm = needs("npm")
    about = {"name": "everyday", "dist-tags": {"latest": "1.2.3"}}
    version = {"name": "everyday", "version": "1.2.3", "dist": {"tarball": f"http://{NAME}/x.tgz"}}
    (files / "everyday").write_text(json.dumps({**about, "versions": {"1.2.3": version}}))
    command = [
        npm,
        "view",
        "--fetch-retries=0",
        f"--registry=http://{NAME}/",
        "everyday",
        "version",
    ]
    assert said(run(command, place, web.rule)) == ["1.2.3"]


@pytest.mark.parametrize(
    "command",
    [
        ["curl", "-sS", f"http://{NAME}/"],
        ["git", "clone", "-q", f"http://{NAME}/repo.git"],
        [PYTHON, "-m", "pip", "download", *PIP, "--index-url", f"https://{NAME}/simple", "x"],
        ["npm", "view", "--fetch-retries=0", f"--registry=http://{NAME}/", "x", "version"],
    ],
    ids=["curl", "git", "pip", "npm"],
)
def test_without_a_grant_it_fails_quickly_and_says_what_to_grant(
    place: Path, command: list[str]
) -> None:
    needs("pip3" if "pip" in command else command[0])
    began = time.monotonic()
    result = run([shutil.which(command[0]) or "", *command[1:]], place, "other.test")
    assert (result.ok, time.monotonic() - began < 20) == (False, True)
    assert result.network_calls is not None
    assert {call.grant for call in result.network_calls} == {NAME}


def test_what_was_reached_is_told_with_program_and_bytes(web: Web, place: Path) -> None:
    result = run([needs("curl"), "-s", f"http://{NAME}/hello.txt"], place, web.rule)
    assert result.network_calls is not None
    (call,) = result.network_calls
    told = (call.allowed, call.target, call.address, call.program, call.rule)
    assert told == (True, f"{NAME}:80", "127.0.0.1", "curl", web.rule)
    assert call.sent > 50 < call.received
    assert 0 < call.seconds < 30


def test_a_service_of_this_machine_is_reached_where_it_was_granted(place: Path, web: Web) -> None:
    port = web.server.server_address[1]
    command = [needs("curl"), "-sS", f"http://localhost:{port}/hello.txt"]
    assert said(run(command, place, f"localhost:{port}")) == ["hello"]
    assert not run(command, place, "other.test").ok


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0"])
def test_a_service_inside_is_reached_from_this_machine_where_it_is_published(
    place: Path, address: str
) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), None) as free:  # type: ignore[arg-type]
        port: int = free.server_address[1]
    (place / "page").write_text("from inside\n")
    heard: list[bytes] = []

    def visit() -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end and not heard:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/page", timeout=5) as page:
                    heard.append(page.read())
            except OSError:
                time.sleep(0.05)

    visitor = threading.Thread(target=visit)
    visitor.start()
    script = f"""
import http.server, socket, sys
http.server.HTTPServer.address_family = socket.AF_INET6 if ":" in "{address}" else socket.AF_INET
server = http.server.HTTPServer(("{address}", {port}), http.server.SimpleHTTPRequestHandler)
server.handle_request()
"""
    result = run([PYTHON, "-c", script], place, reach=read([], publish=[port]))
    visitor.join(25)
    assert (heard, result.ok) == ([b"from inside\n"], True)


def test_what_is_fetched_is_kept_and_what_was_reached_is_written_down(
    place: Path, tmp_path: Path, web: Web
) -> None:
    sandbox = Sandbox(
        str(place),
        audit=str(tmp_path / "record"),
        network=Network(hosts=[web.rule]),
        policy=BUILT_IN,
    )
    command = [needs("curl"), "-sS", "-o", "fetched", f"http://{NAME}/hello.txt", "http://no.test"]
    result = sandbox.run([*command, "--fail-early"])
    assert not result.ok
    (place / "fetched").unlink()  # kept although the command failed later, as a shell would
    result = sandbox.run(command[:-1])
    assert (result.ok, (place / "fetched").read_text()) == (True, "hello\n")
    written = [e for e in AuditReader(str(tmp_path / "record")).all() if e.kind == "network"]
    rows = [json.loads(entry.details) for entry in written]
    assert [(row["target"], row["allowed"]) for row in rows] == [
        (f"{NAME}:80", True),
        ("no.test", False),
        (f"{NAME}:80", True),
    ]


def test_a_preview_reaches_nobody_whatever_was_granted(place: Path, tmp_path: Path) -> None:
    server = Server()
    sandbox = Sandbox(
        str(place),
        audit=str(tmp_path / "record"),
        network=Network(hosts=[f"{NAME}=127.0.0.1:{server.port}"]),
        policy=BUILT_IN,
    )
    sandbox.preview([PYTHON, "-c", f"import socket; socket.create_connection(('{NAME}', 80))"])
    server.close()
    assert server.accepted == 0
