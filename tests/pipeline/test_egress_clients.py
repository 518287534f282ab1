"""uv and apt work behind a company's authority without a flag, whether requests are read or not."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import Access, Network, Sandbox
from redoma.model.result import Result
from tests.escape.gated import PYTHON, workspace
from tests.pipeline.test_egress_everyday import NAME, Web, needs, wheel

pytestmark = [pytest.mark.requirement("K8"), pytest.mark.both_users]
READ = pytest.mark.parametrize("inspect", [False, True], ids=["plain", "inspected"])


@pytest.fixture
def keys(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> ssl.SSLContext:
    """What a server shows: a certificate of an authority that the caller trusts by a variable."""
    place = tmp_path_factory.mktemp("keys")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    leaf = ("-addext", f"subjectAltName=DNS:{NAME}", "-addext", "basicConstraints=CA:FALSE")
    for options in (
        ("-subj", "/CN=company", "-keyout", "ca.key", "-out", "ca.pem"),
        ("-subj", f"/CN={NAME}", "-keyout", "key", "-out", "cert", "-CA", "ca.pem", "-CAkey", "ca.key", *leaf),
    ):  # fmt: skip
        subprocess.run(["openssl", "req", "-x509", *curve, *options], cwd=place, check=True, capture_output=True)  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(place / "ca.pem"))
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(place / "cert", place / "key")
    return made


@pytest.fixture
def web(tmp_path: Path, keys: ssl.SSLContext) -> Iterator[Web]:
    (tmp_path / "files").mkdir()
    made = Web(tmp_path / "files", keys)
    yield made
    made.close()


def ran(command: list[str], place: Path, rule: str, read: list[str], *, inspect: bool) -> Result:
    sandbox = Sandbox(
        str(place),
        audit=f"{place}.record",
        access=Access(direct=True, read=read),
        network=Network(hosts=[rule], inspect=inspect),
        policy="isolation-only",
    )
    result = sandbox.run(command, timeout=50)
    shutil.rmtree(f"{place}.record")
    return result


@READ
def test_uv_installs(web: Web, tmp_path: Path, *, inspect: bool) -> None:
    uv = shutil.which("uv", path=f"{sysconfig.get_path('scripts')}:/usr/local/bin:/usr/bin")
    assert uv is not None
    wheel(tmp_path / "files")
    with workspace() as place:
        command = [uv, "pip", "install", "--no-cache", "--no-config", "--target", "got"]
        command += ["--python", PYTHON, "--index-url", f"https://{NAME}/simple", "everyday"]
        result = ran(command, place, web.rule, [uv], inspect=inspect)
        assert (place / "got/everyday.py").exists(), result.stderr


@READ
def test_apt_reads_an_archive(web: Web, tmp_path: Path, *, inspect: bool) -> None:
    apt = needs("apt-get")
    about = "Package: everyday\nVersion: 1.0\nArchitecture: all\nFilename: ./e.deb\nSize: 1\n\n"
    (tmp_path / "files/Packages").write_text(about)
    with workspace() as place:
        (place / "sources.list").write_text(f"deb [trusted=yes] https://{NAME}/ ./\n")
        for name in ("state/lists/partial", "cache/archives/partial", "etc"):
            (place / name).mkdir(parents=True)
        (place / "status").touch()
        options = {
            "Dir::Etc": f"{place}/etc",
            "Dir::Etc::sourcelist": f"{place}/sources.list",
            "Dir::State": f"{place}/state",
            "Dir::State::status": f"{place}/status",
            "Dir::Cache": f"{place}/cache",
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        result = ran([apt, *words, "update"], place, web.rule, [], inspect=inspect)
        lists = "".join(p.read_text() for p in (place / "state/lists").glob("*Packages"))
    assert "Package: everyday" in lists, (result.stdout, result.stderr)
