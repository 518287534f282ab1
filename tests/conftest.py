"""What every test shares: who may run it, and a line that says so when it is not run."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    am_root = os.geteuid() == 0
    for item in items:
        if item.get_closest_marker("root") and not am_root:
            item.add_marker(pytest.mark.skip(reason="SKIPPED (needs root)"))
        if item.get_closest_marker("not_root") and am_root:
            item.add_marker(
                pytest.mark.skip(reason="needs an ordinary user: bin/test runs it as one first")
            )
