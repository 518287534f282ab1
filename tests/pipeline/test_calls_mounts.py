"""Calls work where something is mounted below a directory that they are given."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.place import Place

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, sys
from redoma.dialects.tools import SandboxExecutor, get_filesystem_only, get_permissive
from redoma.dialects.tools import get_restricted, get_safe_defaults

def seen(path):
    return sorted(os.listdir(path))[:3]

for profile in (get_safe_defaults, get_filesystem_only, get_permissive, get_restricted):
    run = SandboxExecutor(profile(), record=sys.argv[2])
    print(profile.__name__, run.execute(sum, [1, 2]))
if os.path.realpath(sys.argv[1]).startswith(os.path.realpath(os.environ["HOME"])):
    # Another's processes are not shown, and neither is what lies beneath the mount.
    print(SandboxExecutor(get_filesystem_only(), record=sys.argv[2]).execute(seen, sys.argv[1]))
"""


@pytest.mark.requirement("X3")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts, and only root's calls broke")
@pytest.mark.parametrize("below", ["home", "/tmp"])
def test_a_foreign_proc_below_home_or_tmp_breaks_no_call(below: str, place: Place) -> None:
    home = Path(os.environ["HOME"])
    home.mkdir(exist_ok=True)
    at = home / "proc" if below == "home" else Path(f"/tmp/rdm-proc-{os.getpid()}")
    at.mkdir()
    (at / "beneath").write_text("x")
    script = place.workspace / "program.py"
    script.write_text(PROGRAM)
    # In a mount namespace of its own: nobody else sees it.
    line = f"mount -t proc proc {at} && exec {sys.executable} {script} {at} {place.record}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", line],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    (at / "beneath").unlink()
    at.rmdir()
    told = [*(f"get_{name} 3" for name in "safe_defaults filesystem_only".split())]
    told += ["get_permissive 3", "get_restricted 3", *(["[]"] if below == "home" else [])]
    assert (done.stdout.splitlines(), done.stderr) == (told, "")
