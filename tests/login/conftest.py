"""A provider for all tests of a module, and a home of its own for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.login.provider import Provider, chosen, discovered
from redoma.login.transport import ProviderConnection
from tests.login import openid
from tests.unit.conftest import keychain as keychain  # noqa: PLC0414 — a fixture of ours too


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    why = openid.why_not()
    if why:
        pytest.skip(f"SKIPPED: no OpenID provider can be started here: {why}")
    with openid.provider() as address:
        yield address


@pytest.fixture
def connection() -> Iterator[ProviderConnection]:
    with ProviderConnection() as made:
        yield made


@pytest.fixture
def known(issuer: str, connection: ProviderConnection) -> Provider:
    scopes = ("openid", "offline_access")
    return discovered(chosen(issuer, client_id=openid.CLIENT, scopes=scopes), connection)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state").mkdir(mode=0o700)
    monkeypatch.delenv("REDOMA_VAULT_KEY", raising=False)
    return tmp_path
