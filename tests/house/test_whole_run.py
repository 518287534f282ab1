"""The closing line of a whole run is the whole truth, whoever ran which part."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.house.tree import ROOT


def test_what_depends_on_the_user_also_holds_for_an_ordinary_one() -> None:
    status = os.environ.get("REDOMA_ORDINARY_USER_RUN")
    if status is None:
        pytest.skip("bin/test alone, run by root, first runs the marked tests as an ordinary user")
    assert status == "0", "the run as an ordinary user, above, failed"


@pytest.mark.root
def test_run_by_root_the_tests_have_a_tmp_of_their_own() -> None:
    if "REDOMA_TEST_OWN_TMP" not in os.environ:
        pytest.skip("bin/test makes it, where root may make a mount namespace")
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    shown = [fields[3] for fields in map(str.split, mounts) if fields[4] == "/tmp"]
    assert "/redoma-tests." in "".join(shown[-1:])


def test_continuous_integration_requires_what_the_promises_rest_on() -> None:
    said = (ROOT / ".ci/run").read_text(encoding="utf-8")
    wanted = (
        *("bubblewrap", "forkserver", "standard", "strict", "maximum"),
        *("docker", "podman", "agents"),
    )
    assert f"REDOMA_REQUIRE=${{REDOMA_REQUIRE-{','.join(wanted)}}}" in said
    assert "export REDOMA_REQUIRE" in said
