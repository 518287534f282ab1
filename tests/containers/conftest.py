"""Each test gets a project, and a container service on each engine that can be started here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import ContainerConfig
from redoma.dialects.containers import DockerService
from redoma.model.grant import Guarantee
from tests.containers import real_engines
from tests.contract.machine import REQUIRED
from tests.tidy import remove

LIMITS = frozenset({Guarantee.MEMORY_CAPPED, Guarantee.CPU_CAPPED, Guarantee.PROCESSES_CAPPED})


@pytest.fixture(scope="session", params=real_engines.KINDS)
def engine(request: pytest.FixtureRequest) -> Iterator[real_engines.RealEngine]:
    kind = request.param
    why = real_engines.why_not(kind)
    if why and kind in REQUIRED and not (kind == "docker" and os.geteuid() != 0):
        pytest.fail(f"required: {kind} cannot be started here: {why}", pytrace=False)
    if why:
        pytest.skip(f"SKIPPED: {kind} cannot be started here: {why}")
    with real_engines.started(kind) as running:
        yield running


@pytest.fixture
def service(engine: real_engines.RealEngine) -> Iterator[DockerService]:
    made = DockerService(f"unix://{engine.socket}")
    yield made
    for each in made.list():
        made.remove(each.id)


@pytest.fixture
def project() -> Iterator[Path]:
    """A project beside something that is not its own; root's belongs to an ordinary user."""
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    base.chmod(0o755)
    (base / "victim").write_text("as it was")
    place = base / "project"
    place.mkdir()
    if os.geteuid() == 0:
        os.chown(place, 1234, 1234)
    yield place
    remove(base)


@pytest.fixture
def config(engine: real_engines.RealEngine, project: Path) -> ContainerConfig:
    """The strict defaults; an engine that cannot hold limits here is allowed to lack those."""
    held = real_engines.limits_are_held(engine.kind)
    return ContainerConfig(
        image=real_engines.IMAGE,
        project_path=str(project),
        memory="64m",
        cpus="0.5",
        without=frozenset() if held else LIMITS,
    )


@pytest.fixture
def cell(service: DockerService, config: ContainerConfig) -> str:
    """The id of a container that runs."""
    made = service.create(config)
    service.start(made)
    return made
