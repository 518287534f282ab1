"""A place for each test of the whole path."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.place import Place


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    monkeypatch.setenv("HOME", str(base / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(base / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "state"))
    (base / "state").mkdir(mode=0o700)
    yield Place(base)
    shutil.rmtree(base, ignore_errors=True)
