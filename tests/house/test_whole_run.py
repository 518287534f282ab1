"""The closing line of a whole run is the whole truth, whoever ran which part."""

from __future__ import annotations

import os

import pytest

from tests.house.tree import ROOT


def test_what_depends_on_the_user_also_holds_for_an_ordinary_one() -> None:
    status = os.environ.get("REDOMA_ORDINARY_USER_RUN")
    if status is None:
        pytest.skip("bin/test alone, run by root, first runs the marked tests as an ordinary user")
    assert status == "0", "the run as an ordinary user, above, failed"


def test_continuous_integration_requires_what_the_promises_rest_on() -> None:
    said = (ROOT / ".ci/run").read_text(encoding="utf-8")
    wanted = ("bubblewrap", "unshare", "standard", "strict", "maximum")
    assert f"REDOMA_REQUIRE=${{REDOMA_REQUIRE-{','.join(wanted)}}}" in said
    assert "export REDOMA_REQUIRE" in said
