"""What more than one room's tests stand on."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest


@pytest.fixture
def keychain(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keychain as the `keyring` package would give access to one."""
    kept: dict[tuple[str, str], str] = {}
    methods: dict[str, object] = {
        "get_password": lambda _, service, name: kept.get((service, name)),
        "set_password": lambda _, service, name, value: kept.update({(service, name): value}),
        "delete_password": lambda _, service, name: kept.pop((service, name)),
    }
    install_keyring(monkeypatch, "keyring.backends.SecretService", methods)
    return kept


def install_keyring(
    monkeypatch: pytest.MonkeyPatch, module: str, methods: dict[str, object]
) -> None:
    """`keyring` with one backend, a class `Keyring` of this module."""
    backend = type("Keyring", (), {"__module__": module, **methods})()
    made = ModuleType("keyring")
    made.get_keyring = lambda: backend  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", made)
