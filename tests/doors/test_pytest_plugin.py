"""The pytest plugin: a marked test runs inside, and what it tries outside fails it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

pytestmark = pytest.mark.both_users
TESTS = """
import os, pathlib, pytest

OUTSIDE = pathlib.Path({outside!r})

@pytest.mark.enclosed
def test_passes():
    assert sorted([2, 1]) == [1, 2]

@pytest.mark.enclosed
def test_fails():
    assert 1 == 2

@pytest.mark.enclosed
def test_writes_outside():
    (OUTSIDE / "escaped").write_text("x")

@pytest.mark.enclosed
def test_takes_fixtures(tmp_path, number):
    (tmp_path / "made").write_text(str(number))
    assert os.getpid() != PARENT

@pytest.fixture
def number():
    return 7

PARENT = {parent}

def test_has_a_sandbox(sandbox):
    assert sandbox.run("echo hello").stdout == b"hello\\n"
"""


def test_a_marked_test_runs_inside_a_sandbox(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "test_it.py").write_text(TESTS.format(outside=str(outside), parent=os.getpid()))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "redoma.integrations.pytest_plugin"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base"), str(suite)],
        cwd=suite,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "test_fails" in done.stdout and "test_writes_outside" in done.stdout
    assert list(outside.iterdir()) == []
