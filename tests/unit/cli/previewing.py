"""`redoma` in a project of its own, with a state directory of its own; each call a cold process."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.house.tree import PACKAGE

START = [sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py")]


class Project:
    """A workspace, and what Redoma says in it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.root.mkdir()
        self.env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(root),
            "LC_ALL": "C.UTF-8",
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_CACHE_HOME": str(root / "cache"),
        }

    def policy(self, text: str) -> None:
        """The user's own policy, from here on."""
        place = Path(self.env["HOME"]) / ".config/redoma"
        place.mkdir(parents=True)
        (place / "sandbox.yaml").write_text(f'version: "1.0"\n{text}\n')

    def call(self, *arguments: str, status: int | None = 0, **env: str) -> tuple[str, str]:
        """What `redoma ARGUMENTS…` prints on both streams."""
        done = subprocess.run(
            [*START, *arguments],
            cwd=self.root,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        out, err = done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()
        assert "Traceback" not in out + err, out + err
        assert status is None or done.returncode == status, out + err
        return out, err

    def json(self, *arguments: str, status: int | None = 0) -> dict[str, Any]:
        """The object that a command prints with `--json`."""
        out, _ = self.call(*arguments[:1], "--json", *arguments[1:], status=status)
        found: dict[str, Any] = json.loads(out)
        return found

    def preview(self, command: str, status: int | None = 0) -> str:
        """The id of a preview of this command."""
        found = self.json("preview", command, status=status)["id"]
        assert isinstance(found, str)
        return found

    def typed(self, keys: str, *arguments: str, term: str = "xterm") -> tuple[int, str]:
        """Calls with a terminal on which a person answers, one key at a time."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.root)
            os.execve(START[0], [*START, *arguments], {**self.env, "TERM": term, "NO_COLOR": "1"})
        said, left = "", list(keys)
        deadline = time.monotonic() + 20
        try:
            while time.monotonic() < deadline:
                ready, _, _ = select.select([terminal], [], [], 0.1)
                if ready:
                    try:
                        data = os.read(terminal, 65536)
                    except OSError:
                        break
                    if not data:
                        break
                    said += data.decode("utf-8", "replace")
                if left and said.endswith("? "):
                    said += "\0"  # each question is answered once
                    os.write(terminal, left.pop(0).encode())
            if time.monotonic() >= deadline:
                os.kill(child, signal.SIGKILL)
            _, ended = os.waitpid(child, 0)
        finally:
            os.close(terminal)
        return os.waitstatus_to_exitcode(ended), said.replace("\0", "").replace("\r\n", "\n")

    def tree(self) -> dict[str, str]:
        """Every file of the workspace and its text."""
        return {
            str(path.relative_to(self.root)): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }
