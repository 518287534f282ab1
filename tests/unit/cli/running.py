"""Redoma as the process that people and agents start."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import redoma

START = [
    *(sys.executable, "-I", "-S", "-X", "utf8"),
    str(Path(redoma.__file__).parent / "__main__.py"),
]

# Nobody's home is there to be written, and nothing that is recorded belongs into one.
_STATE = tempfile.TemporaryDirectory(prefix="redoma-state-")


class Done:
    """How a process ended, and what it said."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.status = done.returncode
        self.out = done.stdout.decode("utf-8")
        self.err = done.stderr.decode("utf-8")
        assert "Traceback" not in self.out + self.err, self.out + self.err


def run(*arguments: str | bytes, stdin: bytes = b"", cwd: Path | None = None, **env: str) -> Done:
    """Runs `redoma ARGUMENTS…`; a traceback fails the test that asked."""
    done = subprocess.run(
        [*START, *arguments],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**_usual(env), **env},
        timeout=60,
        check=False,
    )
    return Done(done)


def _usual(env: dict[str, str]) -> dict[str, str]:
    usual = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/home/someone"}
    return usual if "HOME" in env else {**usual, "XDG_STATE_HOME": _STATE.name}
