"""A limit that any process met is told, with its flag, and nothing that it cut becomes real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE

pytestmark = pytest.mark.both_users

START = (sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py"))
MB = 1 << 20
IGNORES_SIGXFSZ = """
try:
    with open("cut", "wb") as file:
        for _ in range(8):
            file.write(bytes(1 << 20))
            file.flush()
except OSError:
    pass
"""
MEMORY = "x=bytearray(400 << 20)"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    (place / "source").write_bytes(bytes(6 * MB))
    (place / "ignores.py").write_text(IGNORES_SIGXFSZ)
    (place / "memory.py").write_text(f"{MEMORY}\nprint(len(x))\n")
    (place / "forks.py").write_text(
        "import os, time\n"
        "try:\n"
        "    for _ in range(40):\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(1)\n"
        "            os._exit(0)\n"
        "except OSError:\n"
        "    time.sleep(0.3)\n"
    )
    (place / "opens.py").write_text(
        "import time\n"
        "kept = []\n"
        "try:\n"
        "    while True: kept.append(open('source'))\n"
        "except OSError:\n"
        "    time.sleep(0.6)\n"
    )
    return place


def redoma(workspace: Path, *arguments: str) -> tuple[int, dict[str, object], str]:
    """The status, the JSON object and, of a second run without --json, what a person reads."""
    env = {**os.environ, "XDG_STATE_HOME": str(workspace.parent / "state")}
    run = [*START, "run", *arguments]
    read = subprocess.run(
        [*START, "run", "--json", *arguments],
        cwd=workspace, env=env, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    shown = subprocess.run(
        run, cwd=workspace, env=env, capture_output=True, timeout=60, check=False
    )
    told = shown.stderr.decode()
    assert read.returncode == shown.returncode, (read.stderr, told)
    return read.returncode, json.loads(read.stdout), told


@pytest.mark.parametrize(
    ("limit", "flag", "value", "command"),
    [
        ("file_size", "--file-size", "2M", "cp source cut 2>/dev/null; echo on > on"),
        ("file_size", "--file-size", "2M", "python3 ignores.py; echo on > on"),
        ("file_size", "--file-size", "2M", "mkdir -p d; cat source > d/cut 2>/dev/null; echo on > on"),
        ("total_written", "--total-written", "2M", "cp source all; sync all; echo on > on; sleep 1"),
        ("memory", "--memory", "100M", "python3 memory.py 2>/dev/null; echo on > on"),
        ("processes", "--processes", "12", "python3 forks.py; echo on > on"),
        ("open_files", "--open-files", "64", "python3 opens.py; echo on > on"),
        ("cpu_seconds", "--cpu-time", "1", "echo on > on; sh -c 'while :; do :; done'; echo late"),
        ("temporary", "--tmp", "1M", "cp source /tmp/cut 2>/dev/null; echo on > on"),
    ],
)  # fmt: skip
def test_a_limit_that_any_process_met_is_told_and_nothing_is_applied(
    workspace: Path, limit: str, flag: str, value: str, command: str
) -> None:
    before = sorted(p.name for p in workspace.iterdir())
    status, result, told = redoma(workspace, flag, value, command)
    if limit == "memory" and not result["limits_reached"] and os.geteuid() != 0:
        pytest.skip("without a control group one refused allocation is the program's own to tell")
    assert limit in result["limits_reached"]  # type: ignore[operator]
    assert (status != 0, result["ok"]) == (True, False)
    assert f"{flag} with a larger value, or none, raises it" in told
    assert "keeps what the command wrote" in told
    assert sorted(p.name for p in workspace.iterdir()) == before


def test_a_limit_that_nobody_met_is_not_told(workspace: Path) -> None:
    status, result, told = redoma(
        workspace, "--file-size", "6M", "--total-written", "20M", "--tmp", "24M",
        "cp source /tmp/whole; head -c 1000000 source > part",
    )  # fmt: skip
    assert (status, result["limits_reached"]) == (0, [])
    assert "limits met" not in told
    assert (workspace / "part").stat().st_size == 1_000_000


def test_a_limit_is_told_where_the_workspace_is_written_directly(workspace: Path) -> None:
    status, result, told = redoma(
        workspace, "--direct", "--file-size", "2M", "cp source cut 2>/dev/null; echo on > on"
    )
    assert (status, result["limits_reached"]) == (126, ["file_size"])
    assert "--file-size" in told
