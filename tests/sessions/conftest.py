"""A real server with real terminals in the jail, and people who speak to it over the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pipeline.conftest import one_cache, place
from tests.sessions.server_process import ServerProcess

__all__ = ["one_cache", "place"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess("--grace", "2s")
    yield process
    process.stop()
