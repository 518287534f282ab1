"""Components hold in scopes of a systemd that is real."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.contract import real_systemd
from tests.contract.machine import REQUIRED

ROOT = Path(__file__).resolve().parents[4]
TESTS = Path(__file__).with_name("in_systemd.py")


@pytest.mark.requirement("C5")
@pytest.mark.requirement("C6")
@pytest.mark.root
@pytest.mark.slow
def test_components_hold_in_scopes_of_a_real_systemd(tmp_path: Path) -> None:
    why = real_systemd.why_not()
    if why and "systemd" in REQUIRED:
        pytest.fail(f"required: systemd cannot be started here: {why}", pytrace=False)
    if why:
        pytest.skip(f"SKIPPED: systemd cannot be started here: {why}")
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS)]
    with real_systemd.started() as systemd:
        ended = systemd.run(argv, env=env, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-1000:]
    assert "8 passed" in ended.stdout, ended.stdout[-2000:]
