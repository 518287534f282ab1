"""One console and one browser for all tests of a module, and tabs of its own for each."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy import remove


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="rdm-console-", dir="/var/tmp"))
    made.chmod(0o755)
    yield made
    remove(str(made))


@pytest.fixture(scope="module")
def console(place: Path) -> Iterator[object]:
    from tests.console.browsing import CHROMIUM, Console, serving

    if not shutil.which(CHROMIUM):
        pytest.skip("SKIPPED: chromium is not installed")
    with serving(place) as link:
        yield Console(link)


@pytest.fixture(scope="module")
def browser(console: object) -> Iterator[object]:
    from tests.console.browsing import browsing

    with browsing() as opened:
        yield opened


@pytest.fixture
def desk(browser: object, console: object) -> Iterator[object]:
    from tests.console.browsing import Console, Desk

    assert isinstance(console, Console)
    opened = Desk(browser, console.url)  # type: ignore[arg-type]
    yield opened
    opened.close()
