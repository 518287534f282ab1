"""What every test shares: who may run it, and a line that says so when it is not run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from tests.tidy import remove


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="also what a sample stands for in a usual run"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    am_root = os.geteuid() == 0
    if not config.getoption("--full"):
        left = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    for item in items:
        if item.get_closest_marker("root") and not am_root:
            item.add_marker(pytest.mark.skip(reason="SKIPPED (needs root)"))
        if item.get_closest_marker("not_root") and am_root:
            item.add_marker(
                pytest.mark.skip(reason="needs an ordinary user: bin/test runs it as one first")
            )


# The tests read English, whatever the locale of whoever runs them.
os.environ["REDOMA_LANGUAGE"] = "en"


@pytest.fixture(scope="session", autouse=True)
def a_record_of_its_own() -> Iterator[None]:
    """What this run writes down is not written into the record of whoever runs it."""
    kept = os.environ.get("XDG_STATE_HOME")
    place = tempfile.mkdtemp(prefix="rdm-state-", dir="/var/tmp")
    os.environ["XDG_STATE_HOME"] = place
    yield
    if kept is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = kept
    remove(place)
