"""A session's terminal in a container: used, lost, started again once, and removed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from redoma.jail.containers.engine_socket import ApiCall, EngineSocket
from tests.containers.real_engines import RealEngine
from tests.sessions.server_process import PATIENCE, ServerProcess, SharedSession


@pytest.fixture
def server(engine: RealEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.socket}")
    process = ServerProcess("--grace", "60s")
    yield process
    process.stop()


def containers(engine: RealEngine, *, all: bool = False) -> list[str]:
    found = EngineSocket(engine.socket).ask(
        ApiCall(method="GET", path=f"/containers/json?all={int(all)}")
    )
    return [each["Id"] for each in found.json if "/redoma-run-" in each["Names"][0]]


def kill(engine: RealEngine, container: str) -> None:
    """As a person or the machine does, by the engine and not by us."""
    path = f"/containers/{container}/kill"
    assert EngineSocket(engine.socket).ask(ApiCall(method="POST", path=path)).ok


def runs(session: SharedSession, mark: bytes) -> None:
    session.host.type(b"echo " + mark + b"-$((40+2))\r")
    session.host.until(lambda: mark + b"-42" in session.host.screen)


@pytest.mark.requirement("S12")
def test_a_lost_container_is_started_again_once_and_that_is_written_down(
    engine: RealEngine, server: ServerProcess
) -> None:
    session = server.start(engine="container", record=True)
    session.host.type(b"echo from-here > made; stty size; exec 3>held\r")
    session.host.until(lambda: b"24 80" in session.host.screen)
    (first,) = containers(engine)
    ana = session.admitted()
    session.permit(ana, "read_write")
    kill(engine, first)
    session.host.until(lambda: session.host.said("restarted") is not None)
    ana.until(lambda: ana.said("restarted") is not None)
    runs(session, b"again")
    assert ana.said("permission")["permission"] == "read_only"  # type: ignore[index]
    rows = session.audit()
    (row,) = [each for each in rows if each["type"] == "container_restarted"]
    assert row["facts"]["by"] == "redoma"
    assert "SIGKILL" in row["facts"]["why"]
    (second,) = containers(engine)
    assert second != first
    kill(engine, second)
    session.host.until(lambda: session.host.closed)
    said = session.host.said("ended")
    assert said is not None
    assert said["by"] == "the shell"
    assert any("redoma apply" in note for note in said["notes"])
    until = time.monotonic() + PATIENCE
    while containers(engine, all=True) and time.monotonic() < until:
        time.sleep(0.1)
    assert containers(engine, all=True) == []
