"""A project and a home of its own for each test of a dialect."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy import remove


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, empty, with a home and a record beside it that nobody else uses."""
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp")))
    for name in ("project", "home", "state"):
        (base / name).mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(base / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(base / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "state"))
    monkeypatch.chdir(base / "project")
    yield base / "project"
    remove(base)


@pytest.fixture
def in_tmp() -> Iterator[Path]:
    """A directory right below /tmp, with a file in it."""
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix="rdm-old-", dir="/tmp")))
    (made / "file").write_text("old")
    yield made
    remove(made)
