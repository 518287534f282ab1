"""Style and types are promises like any other: a stray is a failed test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

CHECKS = {
    "ruff check": ["-m", "ruff", "check", "--no-cache", "--output-format=concise", "."],
    "ruff format": ["-m", "ruff", "format", "--no-cache", "--check", "."],
    "mypy --strict": ["-m", "mypy", "--strict"],
}


@pytest.mark.parametrize("check", CHECKS)
def test_the_code_is_clean_under(check: str, tmp_path: Path) -> None:
    command = [sys.executable, *CHECKS[check]]
    if "mypy" in check and not os.access(ROOT, os.W_OK):
        command.append(f"--cache-dir={tmp_path}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"{check}\n{done.stdout}{done.stderr}", pytrace=False)
