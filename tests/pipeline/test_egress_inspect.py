"""What agents use works unchanged where requests are read, and no secret is written down."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import Network, Sandbox
from redoma.cli import main
from redoma.egress.host_rules import read
from redoma.model.grant import Secret
from redoma.model.policy import BUILT_IN
from redoma.model.result import Result
from redoma.model.value import replace
from redoma.pipeline.user_vault import vault
from tests.escape.gated import PYTHON, run, said, workspace
from tests.escape.reading import Host, requests_of, trusted
from tests.pipeline.test_egress_everyday import NAME, PIP, Web, needs, wheel

TOKEN = "tok-5f2c81d09b7e-everyday"


@pytest.fixture
def place() -> Iterator[Path]:
    with workspace() as made:
        yield made


@pytest.fixture
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ssl.SSLContext]:
    with trusted(tmp_path_factory.mktemp("keys"), NAME) as context:
        yield context


@pytest.fixture
def web(tmp_path: Path, keys: ssl.SSLContext) -> Iterator[Web]:
    (tmp_path / "hello.txt").write_text("hello\n")
    made = Web(tmp_path, keys)
    yield made
    made.close()


def reads(command: list[str], place: Path, rule: str, **env: str) -> Result:
    return run(command, place, reach=replace(read([rule]), inspect=True), env=env)


@pytest.mark.both_users
def test_curl_wget_and_node_ask_for_http_2_and_go_on_without(web: Web, place: Path) -> None:
    url = f"https://{NAME}/hello.txt"
    script = f"""
{needs("curl")} -sS --http2 {url}; {needs("wget")} -qO- {url}
{needs("node")} -e 'fetch("{url}").then(a => a.text()).then(t => console.log(t.trim()))'
"""
    result = reads(["/bin/sh", "-c", script], place, web.rule)
    assert said(result) == ["hello", "hello", "hello"], result.stderr
    assert requests_of(result) == [("GET", f"{NAME}:443", "/hello.txt", 200)] * 3


def test_pip_npm_and_git(web: Web, place: Path, tmp_path: Path) -> None:
    wheel(tmp_path)
    version = {"name": "e", "version": "1.2.3", "dist": {"tarball": f"https://{NAME}/x.tgz"}}
    about = {"name": "e", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": version}}
    (tmp_path / "e").write_text(json.dumps(about))
    git = needs("git")
    own = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([git, "init", "-q", tmp_path / "work"], check=True)
    empty = ["commit", "-q", "--allow-empty", "-m", "one"]
    subprocess.run([git, "-C", tmp_path / "work", *own, *empty], check=True)
    bare = tmp_path / "repo.git"
    subprocess.run([git, "clone", "-q", "--bare", tmp_path / "work", bare], check=True)
    subprocess.run([git, "-C", bare, "update-server-info"], check=True)
    index = f"https://{NAME}/simple"
    script = f"""
{PYTHON} -m pip download -q {" ".join(PIP)} --index-url {index} everyday && echo pip
{git} ls-remote -q https://{NAME}/repo.git HEAD | wc -l
{needs("npm")} view --fetch-retries=0 --registry=https://{NAME}/ e version
"""
    result = reads(["/bin/sh", "-c", script], place, web.rule)
    assert said(result) == ["pip", "1", "1.2.3"], result.stderr


def test_the_clients_of_python(web: Web, place: Path) -> None:
    library = place / "library"
    shutil.copytree(sysconfig.get_paths()["purelib"], library, ignore=_only_clients)
    script = f"""
import asyncio, aiohttp, httpx, requests
url = "https://{NAME}/hello.txt"
print(requests.get(url).text.strip(), httpx.Client(http2=True).get(url).http_version)
async def main():
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        print((await answer.text()).strip())
    async with httpx.AsyncClient() as client:
        print([a.status_code for a in await asyncio.gather(*[client.get(url) for _ in range(20)])])
asyncio.run(main())
"""
    result = reads([PYTHON, "-c", script], place, web.rule, PYTHONPATH=str(library))
    assert said(result) == ["hello HTTP/1.1", "hello", str([200] * 20)], result.stderr
    assert sum(call.times for call in result.network_calls or () if call.method) == 23


def test_a_websocket_passes_after_its_request(place: Path, keys: ssl.SSLContext) -> None:
    library = place / "library"
    shutil.copytree(sysconfig.get_paths()["purelib"], library, ignore=_only_clients)
    server = Sockets(keys)
    script = f"""
from websockets.sync.client import connect
with connect("wss://{NAME}/live?token=x", compression=None) as socket:
    for text in ("one", "two" * 100_000):
        socket.send(text); print(len(socket.recv()))
"""
    rule = f"{NAME}=127.0.0.1:{server.port}"
    result = reads([PYTHON, "-c", script], place, rule, PYTHONPATH=str(library))
    server.close()
    assert said(result) == ["3", "300000"], result.stderr
    assert requests_of(result) == [("GET", f"{NAME}:443", "/live?token=…", 101)]
    assert result.network_calls is not None
    assert result.network_calls[0].sent > 300_000


class Sockets:
    """A WebSocket server that repeats what it hears."""

    def __init__(self, context: ssl.SSLContext) -> None:
        from websockets.sync.server import serve

        def repeat(socket: object) -> None:
            for message in socket:  # type: ignore[attr-defined]
                socket.send(message)  # type: ignore[attr-defined]

        self._server = serve(repeat, "127.0.0.1", 0, ssl=context)
        self.port: int = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()


def _only_clients(folder: str, names: list[str]) -> set[str]:
    """Everything that is left out of a copy of what is installed: what no client needs."""
    if not folder.endswith("site-packages"):
        return {"__pycache__"}
    wanted = """
        aiohttp aiohappyeyeballs aiosignal attr attrs frozenlist multidict propcache yarl idna
        httpx httpcore h11 h2 hpack hyperframe anyio sniffio certifi requests urllib3
        charset_normalizer websockets typing_extensions.py
    """.split()
    return {name for name in names if name not in wanted}


@pytest.mark.requirement("S11")
@pytest.mark.requirement("K14")
@pytest.mark.both_users
def test_a_secret_of_the_vault_reaches_the_host_and_no_record(
    place: Path, tmp_path: Path, keys: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    vault().put("work", Secret(f"me:{TOKEN}"))
    host = Host(keys)
    record = f"{tmp_path}/record"
    sandbox = Sandbox(
        str(place),
        audit=record,
        network=Network(
            inspect=True,
            hosts=[f"GET {NAME}:443/echo=127.0.0.1:{host.port}"],
            credentials=[f"{NAME}=basic:vault:work"],
        ),
        policy=BUILT_IN,
    )
    result = sandbox.run(f"curl -sS https://{NAME}/echo?{TOKEN}; env; curl -sS https://{NAME}/x")
    host.close()
    sent = "Basic bWU6dG9rLTVmMmM4MWQwOWI3ZS1ldmVyeWRheQ=="
    assert [each.headers["authorization"] for each in host.asked] == [sent]
    assert b"authorization: Basic ****" in result.stdout
    assert sent.encode() not in result.stdout
    written = b"".join(p.read_bytes() for p in Path(record).rglob("*") if p.is_file())
    assert TOKEN.encode() not in written
    assert sent.encode() not in written
    assert b'"method":"GET"' in written.replace(b": ", b":")
    assert b"basic:vault:work" in written


def test_a_missing_secret_is_said_before_anything_runs(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("NOT_THERE", raising=False)
    words = ["run", "--workspace", str(place), "--inspect", "--allow-host", NAME]
    assert main([*words, "--credential", f"{NAME}=NOT_THERE", "touch made"]) == 125
    assert main([*words, "--credential", f"{NAME}=vault:nobody", "touch made"]) == 125
    assert main([*words[:3], "--allow-host", f"GET {NAME}/x", "touch made"]) == 2
    said = capsys.readouterr().err
    assert "the variable NOT_THERE for packages.test is not set here" in said
    assert "the vault has no secret 'nobody'" in said
    assert "hint: --inspect" in said
    assert not (place / "made").exists()
