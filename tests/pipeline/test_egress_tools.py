"""The libraries and tools that agents use reach a granted host as they are, by TLS and by name.

Each is given the test's own certificate in the way its own users give it one; none is told of a
gate. A tool that is not installed is skipped by name.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import ssl
import subprocess
import sysconfig
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import Access, Network, Sandbox
from redoma.model.result import Result
from tests.escape.gated import PYTHON, Server, said, workspace
from tests.pipeline.test_egress_everyday import NAME, Web, needs, wheel

pytestmark = [pytest.mark.requirement("K8")]

LIBRARIES = sysconfig.get_paths()["purelib"]


class Inside:
    """A workspace with the certificate that a command is to trust, and what it may reach."""

    def __init__(self, place: Path, record: Path) -> None:
        self.place = place
        self._record = record

    def run(
        self, command: list[str], rule: str, *, read: tuple[str, ...] = (), **env: str
    ) -> Result:
        sandbox = Sandbox(
            str(self.place),
            audit=str(self._record),
            access=Access(
                direct=True,
                read=[LIBRARIES, *read],
                env={"PYTHONPATH": LIBRARIES, "PYTHONDONTWRITEBYTECODE": "1", **env},
            ),
            network=Network(hosts=[rule]),
            policy="isolation-only",
        )
        return sandbox.run(command, timeout=50)

    def python(self, script: str, rule: str) -> list[str]:
        (self.place / "script.py").write_text(script)
        return said(self.run([PYTHON, "script.py"], rule))


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Inside]:
    with workspace() as made:
        yield Inside(made, tmp_path / "record")


@pytest.fixture
def context(inside: Inside, tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """What the server shows: a certificate of an authority that lies in the workspace."""
    keys = tmp_path_factory.mktemp("keys")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key")
    leaf = ("-addext", f"subjectAltName=DNS:{NAME}", "-addext", "basicConstraints=CA:FALSE")
    for options in (
        ("-subj", "/CN=own", "-keyout", "ca.key", "-out", "ca.pem"),
        ("-subj", f"/CN={NAME}", "-keyout", "key.pem", "-out", "cert.pem", *signed, *leaf),
    ):
        command = ["openssl", "req", "-x509", *curve, *options]
        subprocess.run(command, cwd=keys, check=True, capture_output=True)
    for name in ("ca.pem", "cert.pem", "key.pem"):
        shutil.copyfile(keys / name, inside.place / name)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(keys / "cert.pem", keys / "key.pem")
    return made


@pytest.fixture
def files(tmp_path: Path) -> Path:
    place = tmp_path / "files"
    place.mkdir()
    (place / "hello.txt").write_text("hello\n")
    return place


@pytest.fixture
def secure(files: Path, context: ssl.SSLContext) -> Iterator[Web]:
    made = Web(files, context)
    yield made
    made.close()


@pytest.fixture
def plain(files: Path) -> Iterator[Web]:
    made = Web(files)
    yield made
    made.close()


URL = f"https://{NAME}/hello.txt"


@pytest.mark.parametrize(
    ("library", "script"),
    {
        "requests": f"import requests; print(requests.get('{URL}', verify='ca.pem').text)",
        "httpx": f"""
import httpx, ssl
context = ssl.create_default_context(cafile="ca.pem")
print(httpx.get("{URL}", verify=context).text)
""",
        "aiohttp": f"""
import aiohttp, asyncio, ssl
async def main():
    context = ssl.create_default_context(cafile="ca.pem")
    async with aiohttp.ClientSession() as session:
        async with session.get("{URL}", ssl=context) as response:
            print(await response.text())
asyncio.run(main())
""",
    }.items(),
    ids=lambda value: value if value.isalpha() else "",
)
def test_a_library_of_python(secure: Web, inside: Inside, library: str, script: str) -> None:
    pytest.importorskip(library)
    assert [line for line in inside.python(script, secure.rule) if line] == ["hello"]


def test_httpx_by_http_2(inside: Inside, context: ssl.SSLContext) -> None:
    pytest.importorskip("h2")
    del context  # its files are what the server reads
    served = f"""
const h2 = require("http2"), fs = require("fs");
const server = h2.createSecureServer({{key: fs.readFileSync("{inside.place}/key.pem"),
    cert: fs.readFileSync("{inside.place}/cert.pem")}});
server.on("stream", s => {{ s.respond({{":status": 200}}); s.end("by two"); }});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""
    with subprocess.Popen([needs("node"), "-e", served], stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        port = node.stdout.readline().strip()
        script = f"""
import httpx, ssl
context = ssl.create_default_context(cafile="ca.pem")
with httpx.Client(http2=True, verify=context) as client:
    response = client.get("https://{NAME}/")
    print(response.http_version, response.text)
"""
        heard = inside.python(script, f"{NAME}=127.0.0.1:{port}")
        node.terminate()
    assert heard == ["HTTP/2 by two"]


def test_websockets_by_tls(inside: Inside, context: ssl.SSLContext) -> None:
    server = pytest.importorskip("websockets.sync.server")

    def echo(connection: object) -> None:
        for message in connection:  # type: ignore[attr-defined]
            connection.send(message)  # type: ignore[attr-defined]

    with server.serve(echo, "127.0.0.1", 0, ssl=context) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        port = serving.socket.getsockname()[1]
        script = f"""
import ssl
from websockets.sync.client import connect
with connect("wss://{NAME}/", ssl=ssl.create_default_context(cafile="ca.pem")) as socket:
    socket.send("frame")
    print(socket.recv())
"""
        heard = inside.python(script, f"{NAME}=127.0.0.1:{port}")
        serving.shutdown()
    assert heard == ["frame"]


def test_node_fetch_by_tls(secure: Web, inside: Inside) -> None:
    script = f"fetch('{URL}').then(r => r.text()).then(t => console.log(t.trim()))"
    command = [needs("node"), "-e", script]
    result = inside.run(command, secure.rule, NODE_EXTRA_CA_CERTS=f"{inside.place}/ca.pem")
    assert said(result) == ["hello"]


def test_a_program_with_a_resolver_of_its_own(plain: Web, inside: Inside) -> None:
    """Node's `dns.resolve` is c-ares: it asks by itself, past the C library."""
    script = f"require('dns').resolve4('{NAME}', (e, found) => console.log(e || found.join()))"
    assert said(inside.run([needs("node"), "-e", script], plain.rule)) == ["198.18.0.16"]


def test_a_go_program(plain: Web, inside: Inside) -> None:
    go = needs("go")
    (inside.place / "main.go").write_text(f"""package main
import ("fmt"; "io"; "net/http")
func main() {{
    r, e := http.Get("http://{NAME}/hello.txt")
    if e != nil {{ fmt.Println(e); return }}
    text, _ := io.ReadAll(r.Body); fmt.Print(string(text))
}}
""")
    subprocess.run(
        [go, "build", "-o", "fetch", "main.go"],
        cwd=inside.place,
        check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(inside.place), "CGO_ENABLED": "0"},
    )
    assert said(inside.run(["./fetch"], plain.rule)) == ["hello"]


def test_names_are_asked_for_by_tcp_as_well(plain: Web, inside: Inside) -> None:
    result = inside.run([needs("getent"), "ahostsv4", NAME], plain.rule, RES_OPTIONS="use-vc")
    assert said(result)[0].split()[0] == "198.18.0.16"


def test_wget_by_tls(secure: Web, inside: Inside) -> None:
    command = [needs("wget"), "-qO-", "--ca-certificate=ca.pem", URL]
    assert said(inside.run(command, secure.rule)) == ["hello"]


def test_git_clone_by_https(secure: Web, inside: Inside, files: Path, tmp_path: Path) -> None:
    git = needs("git")
    work, bare = tmp_path / "work", files / "repo.git"
    own = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (
        [git, "init", "-q", str(work)],
        [git, "-C", str(work), *own, "commit", "-q", "--allow-empty", "-m", "one"],
        [git, "clone", "-q", "--bare", str(work), str(bare)],
        [git, "-C", str(bare), "update-server-info"],
    ):
        subprocess.run(command, check=True)
    command = [git, "-c", "http.sslCAInfo=ca.pem", "clone", "-q", f"https://{NAME}/repo.git"]
    result = inside.run(command, secure.rule)
    assert (result.ok, (inside.place / "repo" / ".git").is_dir()) == (True, True), result.stderr


def test_uv_installs(secure: Web, inside: Inside, files: Path) -> None:
    uv = shutil.which("uv", path=f"{sysconfig.get_path('scripts')}:/usr/local/bin:/usr/bin")
    if uv is None:
        pytest.skip("uv is not installed")
    wheel(files)
    command = [uv, "pip", "install", "--no-cache", "--no-config", "--target", "got"]
    command += ["--python", PYTHON, "--index-url", f"https://{NAME}/simple", "everyday"]
    certificates = {"SSL_CERT_FILE": f"{inside.place}/ca.pem"}
    result = inside.run(command, secure.rule, read=(uv,), **certificates)
    assert (inside.place / "got" / "everyday.py").exists(), result.stderr


def test_cargo_fetches_from_a_sparse_registry(secure: Web, inside: Inside, files: Path) -> None:
    cargo = needs("cargo")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (
            ("Cargo.toml", '[package]\nname = "everyday"\nversion = "0.1.0"\n'),
            ("src/lib.rs", "pub fn answer() -> u8 { 42 }\n"),
        ):
            about = tarfile.TarInfo(f"everyday-0.1.0/{name}")
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text.encode()))
    index, crates = files / "index" / "ev" / "er", files / "crates" / "everyday" / "0.1.0"
    index.mkdir(parents=True)
    crates.mkdir(parents=True)
    (crates / "download").write_bytes(packed.getvalue())
    (files / "index" / "config.json").write_text(json.dumps({"dl": f"https://{NAME}/crates"}))
    row = {"name": "everyday", "vers": "0.1.0", "deps": [], "features": {}, "yanked": False}
    row["cksum"] = hashlib.sha256(packed.getvalue()).hexdigest()
    (index / "everyday").write_text(json.dumps(row) + "\n")
    project = inside.place / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "lib.rs").write_text("")
    (project / "Cargo.toml").write_text(
        '[package]\nname = "own"\nversion = "0.1.0"\n[dependencies]\neveryday = "0.1.0"\n'
    )
    home = inside.place / "cargo"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "own"\n[source.own]\n'
        f'registry = "sparse+https://{NAME}/index/"\n[http]\ncainfo = "{inside.place}/ca.pem"\n'
    )
    # A cargo of before 1.68 has to be told that it can do this.
    command = [cargo, "-Zsparse-registry", "fetch", "--manifest-path", "project/Cargo.toml"]
    result = inside.run(command, secure.rule, CARGO_HOME=str(home), RUSTC_BOOTSTRAP="1")
    assert (result.ok, len(list(home.rglob("everyday-0.1.0.crate")))) == (True, 1), result.stderr


def test_ssh_and_a_host_granted_by_its_port_greet_each_other(inside: Inside) -> None:
    """The client is the real one; the host only greets, which is as far as a gate matters."""
    ssh = needs("ssh")
    server = Server(b"", greeting=b"SSH-2.0-own\r\n")
    options = ["-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]
    result = inside.run(
        ["timeout", "3", ssh, "-v", *options, f"someone@{NAME}"],
        f"{NAME}:22=127.0.0.1:{server.port}",
    )
    server.close()
    assert b"remote software version own" in result.stderr, result.stderr
    assert server.heard[0].startswith(b"SSH-2.0-OpenSSH")
