"""Says at the end how many of Inspect's own checks passed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest

CHECK = "test_a_check_of_inspects_own_passes"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the count, where they were run."""
    counts = {
        how: sum(CHECK in each.nodeid for each in terminalreporter.stats.get(how, []))
        for how in ("passed", "failed", "skipped")
    }
    ran = sum(counts.values())
    if ran:
        terminalreporter.write_line(f"Inspect's self_check: {counts['passed']} of {ran}")


@pytest.fixture(autouse=True)
def leavings() -> Iterator[None]:
    """What Inspect leaves to the collector is collected here, and is no other test's."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
