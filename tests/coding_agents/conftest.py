"""People for the tests of agents: each has a home and a project of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.coding_agents.person import Person
from tests.tidy import remove


@pytest.fixture
def person() -> Iterator[Callable[[str], Person]]:
    """Makes people by name."""
    base = Path(tempfile.mkdtemp(prefix="rdm-agents-", dir="/var/tmp"))
    base.chmod(0o755)
    yield lambda name: Person(base / name)
    remove(base)
