"""Whoever is trusted outside is trusted inside, read or not; and no key goes in with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.egress import host_rules, trust_store
from redoma.model.network import Reach
from redoma.model.value import replace
from tests.escape.gated import behind_a_gate, certificate, run, said, workspace
from tests.escape.reading import Host

pytestmark = pytest.mark.both_users

_GET = """
import urllib.request
print(urllib.request.urlopen("https://a.test/x", timeout=10).read())
"""


def reaching(host: Host, *, inspect: bool) -> Reach:
    return replace(host_rules.read([f"a.test=127.0.0.1:{host.port}"]), inspect=inspect)


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """`a.test` over TLS, under an authority that nobody was told to trust yet."""
    (tmp_path / "tls").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (*trust_store.VARIABLES, "SSL_CERT_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    made = Host(certificate(tmp_path / "tls", "a.test"))
    yield made
    made.close()


def named_by_variable(place: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, str(place / "tls/cert.pem"))


def test_who_is_trusted_by_nobody_outside_is_trusted_by_nobody_inside(company: Host) -> None:
    result = behind_a_gate(_GET, f"a.test=127.0.0.1:{company.port}")
    assert b"CERTIFICATE_VERIFY_FAILED" in result.stderr


@pytest.mark.parametrize(
    "name",
    "SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO".split(),
)
@pytest.mark.parametrize("inspect", [False, True], ids=["plain", "inspected"])
def test_a_variable_that_names_a_company_s_authority_counts_inside(
    company: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, inspect: bool
) -> None:
    named_by_variable(tmp_path, monkeypatch, name)
    reach = reaching(company, inspect=inspect)
    assert said(behind_a_gate(_GET, reach=reach)) == ["b'GET /x'"]


@pytest.mark.parametrize(
    ("file", "content"),
    {
        ".config/pip/pip.conf": "[global]\ncert = {0}\n",
        ".npmrc": "cafile={0}\n",
        ".gitconfig": '[http "https://a.test"]\n\tsslCAInfo = {0}\n',
        ".cargo/config.toml": '[http]\ncainfo = "{0}"\n',
    }.items(),
)
def test_settings_that_name_a_company_s_authority_count_inside(
    company: Host, tmp_path: Path, file: str, content: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content.format(tmp_path / "tls/cert.pem"), encoding="utf-8")
    result = behind_a_gate(_GET, f"a.test=127.0.0.1:{company.port}")
    assert said(result) == ["b'GET /x'"]


def test_a_directory_of_certificates_counts_inside(
    company: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "certs").mkdir()
    (tmp_path / "tls/cert.pem").rename(tmp_path / "certs/company.pem")
    monkeypatch.setenv("SSL_CERT_DIR", f"/nowhere:{tmp_path}/certs")
    result = behind_a_gate(_GET, f"a.test=127.0.0.1:{company.port}")
    assert said(result) == ["b'GET /x'"]


def test_node_trusts_a_company_s_authority_without_a_flag(
    company: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named_by_variable(tmp_path, monkeypatch, "NODE_EXTRA_CA_CERTS")
    script = 'fetch("https://a.test/x").then(r => r.text()).then(console.log)'
    if not os.path.exists("/usr/bin/node"):
        pytest.skip("node is not here")
    for inspect in (False, True):
        with workspace() as place:
            reach = reaching(company, inspect=inspect)
            result = run(["/usr/bin/node", "-e", script], place, reach=reach)
        assert said(result) == ["GET /x"]


def test_of_a_file_that_holds_a_key_too_only_the_certificate_goes_in(
    company: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Attack: one file with both, as many servers have it; a command reads what it is to trust.
    tls = tmp_path / "tls"
    key = (tls / "key.pem").read_text(encoding="ascii")
    both = tls / "both.pem"
    both.write_text(f"secret note\n{key}{(tls / 'cert.pem').read_text(encoding='ascii')}")
    monkeypatch.setenv("SSL_CERT_FILE", str(both))
    script = """
import os
text = "".join(open(os.environ[n]).read() for n in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"))
print("PRIVATE" in text, "secret note" in text, text.count("BEGIN CERTIFICATE") > 0)
"""
    for inspect in (False, True):
        reach = reaching(company, inspect=inspect)
        assert said(behind_a_gate(script + _GET, reach=reach)) == ["False False True", "b'GET /x'"]


def test_nothing_is_laid_over_where_the_system_s_store_says_it_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (*trust_store.VARIABLES, "SSL_CERT_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    result = behind_a_gate('print(os.environ.get("SSL_CERT_FILE"))', "a.test=127.0.0.1:1")
    assert said(result) == ["None"]


@pytest.mark.parametrize("kind", ["pipe", "missing", "garbage", "huge"])
def test_a_name_that_leads_to_no_certificates_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    place = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "garbage":
        place.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    elif kind == "huge":
        with place.open("wb") as file:
            file.truncate(1 << 30)
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(place))
    assert trust_store.trust().cert_store_stats()["x509_ca"] > 0
    assert (b"AAAA\n" in trust_store.bundle(None)) is (kind == "garbage")
