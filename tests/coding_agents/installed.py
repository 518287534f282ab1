"""The coding agents of the npm registry, in pinned versions, installed once for all tests."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.contract.machine import REQUIRED

HERE = Path(__file__).parent / "packages"
PROGRAMS = {
    # The package's own `claude` waits for a script of the installation, which does not run here.
    "claude": "node_modules/@anthropic-ai/claude-code-linux-{machine}/claude",
    "codex": "node_modules/.bin/codex",
    "gemini": "node_modules/.bin/gemini",
}
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


@functools.cache
def _installed() -> tuple[Path | None, str]:
    """Where the packages lie, each checked against the lock; or why they cannot be installed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None, "node or npm is not installed"
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(said[1:].partition(".")[0]) < 20:
        return None, f"node is {said.strip()}, 20 is needed"
    lock = (HERE / "package-lock.json").read_bytes()
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redoma-tests"
    place = base / f"agents-{hashlib.sha256(lock).hexdigest()[:16]}"
    place.mkdir(parents=True, exist_ok=True)
    with (base / "agents.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (place / "done").exists():
            for file in HERE.iterdir():
                shutil.copy(file, place)
            command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            try:
                subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=300)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                return None, f"npm cannot install them: {error}"
            (place / "done").touch()
    return place, ""


def program(name: str) -> Path:
    """One of the agents; skips loudly, or fails where the agents are required."""
    place, why = _installed()
    found = PROGRAMS[name].format(machine=_MACHINES.get(platform.machine(), "x64"))
    if place is not None and (place / found).exists():
        return place / found
    if "agents" in REQUIRED:
        pytest.fail(f"required: agents: {why or found}", pytrace=False)
    pytest.skip(f"SKIPPED: {name} cannot be started here: {why or found}")
