"""The actions keep the numbers of their document, whatever a level gives a run today."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.dialects.actions import ActionSandbox
from redoma.jail.profiles.profile import load

MB = 1 << 20


@pytest.mark.both_users
def test_a_run_has_the_documents_limits_and_one_that_meets_them_is_a_violation(
    project: Path,
) -> None:
    told = ActionSandbox(str(project), confirm=lambda _: True).perform(
        "sandbox.execute", {"command": "head -c 120000000 /dev/zero > large; echo on > on"}
    )
    assert told["error"]["code"] == "SANDBOX_003", told  # type: ignore[index]
    assert not (project / "on").exists()


def test_the_documents_numbers_lower_what_a_level_gives(project: Path) -> None:
    sandbox = ActionSandbox(str(project))._sandbox()
    limits = sandbox.config.overrides.applied_to(load("standard").grant(str(project))).limits
    assert (limits.memory, limits.file_size, limits.total_written, limits.wall_seconds) == (
        min(2048 * MB, load("standard").limits.memory or 0),
        100 * MB,
        1000 * MB,
        300,
    )
    strict = sandbox.config.overrides.applied_to(load("strict").grant(str(project))).limits
    assert (strict.memory, strict.wall_seconds) == (512 * MB, 60)
