"""The systemd engine under a systemd that is real."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.contract import real_systemd
from tests.contract.machine import REQUIRED

ROOT = Path(__file__).resolve().parents[2]
INSIDE = "REDOMA_TEST_INSIDE_SYSTEMD"


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the run inside")
def test_the_whole_contract_holds_in_scopes_of_a_real_systemd() -> None:
    why = real_systemd.why_not()
    if why and "systemd" in REQUIRED:
        pytest.fail(f"required: systemd cannot be started here: {why}", pytrace=False)
    if why:
        pytest.skip(f"SKIPPED: systemd cannot be started here: {why}")
    env = {**os.environ, INSIDE: "yes", "REDOMA_CONTRACT_ENGINES": "systemd"}
    env |= {"REDOMA_REQUIRE": "systemd", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract"]
    argv.append(
        "--ignore=tests/contract/test_forkserver.py"
    )  # of another engine, which is not chosen there
    with real_systemd.started() as systemd:
        ended = systemd.run(argv, env=env, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-1000:]
