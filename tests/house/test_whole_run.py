"""The closing line of a whole run is the whole truth, whoever ran which part."""

from __future__ import annotations

import os

import pytest


def test_what_depends_on_the_user_also_holds_for_an_ordinary_one() -> None:
    status = os.environ.get("REDOMA_ORDINARY_USER_RUN")
    if status is None:
        pytest.skip("bin/test alone, run by root, first runs the marked tests as an ordinary user")
    assert status == "0", "the run as an ordinary user, above, failed"
