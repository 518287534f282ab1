"""A built wheel has all that a command needs, and the extras that the guide names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from tests.house.tree import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    made = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(place), str(ROOT)]
    done = subprocess.run(made, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = place.glob("*.whl")
    return found


def test_the_extras_of_the_guide_are_extras_of_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [each for each in packed.namelist() if each.endswith("dist-info/METADATA")]
        extras = set(message_from_string(packed.read(name).decode()).get_all("Provides-Extra", []))
    guide = (ROOT / "docs/guides/install.md").read_text()
    table = guide.partition("| extra |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([a-z]+)`(?=[^|]*\|[^|]*\|)", table))
    assert named and named <= extras


def test_a_command_of_the_wheel_runs_and_is_undone(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
    project = tmp_path / "project"
    project.mkdir()
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(tmp_path / "installed"),
        "LC_ALL": os.environ.get("LC_ALL", "C.UTF-8"),
    }

    def redoma(*words: str) -> subprocess.CompletedProcess[str]:
        start = [sys.executable, "-m", "redoma", *words]
        return subprocess.run(
            start, cwd=project, env=env, capture_output=True, text=True, timeout=120, check=False
        )

    done = redoma("run", "echo hi > f; exit 3")
    assert (done.returncode, (project / "f").exists()) == (3, True), done.stderr
    undone = redoma("undo")
    assert (undone.returncode, (project / "f").exists()) == (0, False), undone.stderr
