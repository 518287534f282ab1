"""What every test shares: who may run it, and a line that says so when it is not run."""

from __future__ import annotations

import os

import pytest


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
