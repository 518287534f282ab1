"""A place of its own for each test: a home, a state directory, and room for a workspace."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.jail.protect.untrusted_paths import remove_tree


@pytest.fixture
def own_places(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory below which everything of a test lies; caches are the caller's own."""
    # Not below /tmp, which is another one inside.
    base = Path(tempfile.mkdtemp(prefix="rdm-overlay-", dir="/var/tmp"))
    base.chmod(0o755)
    home = base / "home"
    home.mkdir()
    if "XDG_CACHE_HOME" not in os.environ:
        cache = Path(os.environ["HOME"], ".cache")
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "state"))
    yield base
    remove_tree(str(base))
