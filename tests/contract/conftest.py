"""One suite for every engine: each test gets a machine on each engine that works here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.machine import ENGINES, Machine, usable
from tests.tidy import remove


@pytest.fixture(scope="module", autouse=True)
def a_caller() -> Iterator[None]:
    """This process as a caller with a home, caches and secrets of its own, in this module only."""
    kept = dict(os.environ)
    home = tempfile.mkdtemp(prefix="rdm-home-", dir="/var/tmp")
    os.environ.update(
        HOME=home,
        XDG_CACHE_HOME=f"{home}/.cache",
        XDG_STATE_HOME=f"{home}/.local/state",
        CONTRACT_SECRET="of-the-caller",
        LC_SECRET="of-the-caller",
    )
    yield
    os.environ.clear()
    os.environ.update(kept)
    remove(home)


@pytest.fixture(params=ENGINES)
def machine(request: pytest.FixtureRequest, a_caller: None) -> Iterator[Machine]:
    usable(request.param)
    # Not below /tmp, which is another one inside.
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    base.chmod(0o755)
    yield Machine(request.param, base)
    remove(base)
