"""An image is found by a project's files, built where there is a Dockerfile, or missed aloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma import ContainerConfig, ContainerError, ImageMissing, UsageError, replace
from redoma.dialects.containers import DockerService
from tests.containers.real_engines import IMAGE, RealEngine
from tests.containers.test_container_life import said

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("S4")]


def test_a_dockerfile_is_built_with_progress_and_without_a_registry(
    service: DockerService, config: ContainerConfig, project: Path
) -> None:
    (project / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY greeting /greeting\n")
    (project / "greeting").write_text("built")
    heard: list[str] = []
    made = service.create(replace(config, image=""), progress=heard.append)
    service.start(made)
    assert said(service, made, "cat", "/greeting") == ("built", 0)
    assert any("COPY" in line for line in heard)


def test_a_dockerfile_that_fails_says_where(
    service: DockerService, config: ContainerConfig, project: Path
) -> None:
    (project / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY no-such-file /x\n")
    with pytest.raises(ContainerError, match="no-such-file") as caught:
        service.create(replace(config, image=f"build:{project}"))
    assert "bridge" in caught.value.hint


def test_only_the_projects_own_dockerfile_is_built(
    service: DockerService, config: ContainerConfig, project: Path
) -> None:
    with pytest.raises(UsageError, match="another project"):
        service.create(replace(config, image=f"build:{project.parent}"))


def test_an_image_that_is_nowhere_is_missed_with_the_command_to_load_one(
    service: DockerService, config: ContainerConfig, engine: RealEngine
) -> None:
    with pytest.raises(ImageMissing) as caught:
        service.create(replace(config, image="localhost:9/nowhere:1"))
    assert f"{engine.kind} load -i" in caught.value.hint
    assert service.list() == []
