"""A place for each test of the whole path."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.place import Place
from tests.tidy import remove


@pytest.fixture(scope="module")
def one_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is found out once is found out for all tests of a module."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    monkeypatch.setenv("HOME", str(base / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(base / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "state"))
    (base / "state").mkdir(mode=0o700)
    yield Place(base)
    remove(base)
