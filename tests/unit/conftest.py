"""What more than one room's tests stand on."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest


@pytest.fixture
def keychain(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keychain as the `keyring` package would give access to one."""
    kept: dict[tuple[str, str], str] = {}
    module = ModuleType("keyring")
    module.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    module.set_password = lambda service, name, value: kept.update({(service, name): value})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", module)
    return kept
