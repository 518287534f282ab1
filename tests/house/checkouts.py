"""Copies of the project in odd places, and ways to run their commands as a newcomer would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.house.tree import ROOT

WHAT_IT_TAKES = ("bin", "requirements", "src", "pyproject.toml")


def clone_to(place: Path) -> Path:
    """A copy of what bin/redoma needs, without any environment or compiled file."""
    place.mkdir(parents=True)
    for name in WHAT_IT_TAKES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, place / name)
    return place


def run(
    program: Path | str, *arguments: str, home: Path, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command with a clean HOME and nothing of this run's own settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "REDOMA_", "PYTHON"))}
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [str(program), *arguments],
        cwd=cwd or home,
        env={**kept, "HOME": str(home), **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def script(place: Path, text: str) -> Path:
    """An executable shell script."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


def python_without(place: Path, statement: str) -> Path:
    """A Python whose answers are those of a poorer machine, after `statement` has run in it."""
    inside = f"import sys; {statement}; exec(sys.argv[1])"
    return script(place, f'exec \'{sys.executable}\' -I -c "{inside}" "$3"')
