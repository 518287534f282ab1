"""What is started in a container that stays is judged, asked about and written down."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import redoma
from redoma import ContainerConfig, Declined
from redoma.audit.entries import AuditReader
from redoma.dialects.containers import AsyncDockerService, DockerService
from redoma.model.errors import Denied
from tests.containers.real_engines import RealEngine

_ASKED_ABOUT = ["sh", "-c", "git push --force origin main; echo ran > ran"]


def _rows(place: Path) -> list[tuple[str, str]]:
    with AuditReader(str(place)) as reader:
        return [(each.kind, str(each.facts().get("verdict", ""))) for each in reader.all()]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit"


def test_a_command_that_policy_denies_never_starts(
    engine: RealEngine, cell: str, project: Path, log: Path
) -> None:
    service = DockerService(engine.socket, audit=str(log))
    with pytest.raises(Denied):
        service.exec(cell, ["sh", "-c", "echo ran > /workspace/ran; rm -rf /"])
    assert list(project.iterdir()) == []
    assert _rows(log) == [("judged", "deny"), ("refused", "")]


def test_a_command_that_nobody_approves_never_starts(
    engine: RealEngine, cell: str, project: Path, log: Path
) -> None:
    service = DockerService(engine.socket, audit=str(log), ask=lambda _: False)
    with pytest.raises(Declined):
        service.exec(cell, _ASKED_ABOUT)
    assert list(project.iterdir()) == []
    kinds = [("judged", "confirm"), ("asked", ""), ("answered", ""), ("refused", "")]
    assert _rows(log) == kinds


def test_a_command_that_is_approved_runs_and_so_does_a_harmless_one(
    engine: RealEngine, cell: str, project: Path, log: Path
) -> None:
    asked: list[str] = []

    def yes(question: redoma.Question) -> bool:
        asked.append(question.command)
        return True

    service = DockerService(engine.socket, audit=str(log), ask=yes)
    with service.ExecInContainer(cell, _ASKED_ABOUT) as stream:
        stream.read()
        assert stream.wait() == 0
    assert (project / "ran").read_text() == "ran\n"
    with service.exec(cell, ["echo", "harmless"]) as stream:
        assert (stream.read(), stream.wait()) == (b"harmless\n", 0)
    assert len(asked) == 1
    kinds = [("judged", "confirm"), ("asked", ""), ("answered", ""), ("judged", "allow")]
    assert _rows(log) == kinds


def test_the_awaited_service_judges_too(
    engine: RealEngine, cell: str, config: ContainerConfig, log: Path
) -> None:
    async def go() -> bytes:
        service = AsyncDockerService(engine.socket, audit=str(log))
        with pytest.raises(Denied):
            await service.ExecInContainer(cell, ["rm", "-rf", "/"])
        async with await service.exec(cell, ["echo", "harmless"]) as stream:
            return await stream.read()

    assert asyncio.run(go()) == b"harmless\n"
    assert [kind for kind, _ in _rows(log)] == ["judged", "refused", "judged"]


def test_who_wants_no_judgement_says_so(
    engine: RealEngine, cell: str, project: Path, log: Path
) -> None:
    service = DockerService(engine.socket, audit=str(log))
    with service.exec_unjudged(cell, _ASKED_ABOUT) as stream:
        stream.read()
        stream.wait()
    assert (project / "ran").exists()
    assert not log.exists()
