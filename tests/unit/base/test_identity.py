"""A process is known by its pid and its start time, and by nothing that another one can get."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from redoma.base.identity import boot_id, identity, is_running, start_time


def test_the_boot_is_the_kernels_own_name_for_it() -> None:
    assert boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_a_running_process_is_running_and_another_start_time_is_another_process() -> None:
    own = identity(os.getpid())
    assert own == f"{os.getpid()}-{start_time(os.getpid())}"
    assert is_running(own)
    assert is_running(f"{own}-7")
    assert not is_running(f"{own}1")


def test_what_is_no_identity_runs_nowhere() -> None:
    for name in ("", "-", "1", "1-", "x-1", f"{os.getpid()}-"):
        assert not is_running(name)


def test_a_process_that_ended_has_no_start_time_even_before_its_parent_waits() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(child.pid) == ""
    child.wait()
    assert start_time(child.pid) == ""


def test_a_name_with_parentheses_and_spaces_does_not_shift_the_fields() -> None:
    code = (
        "import ctypes, os, sys\n"
        "ctypes.CDLL(None).prctl(15, b'a) Z 1 (b', 0, 0, 0)\n"
        "from redoma.base.identity import start_time\n"
        "sys.stdout.write(start_time(os.getpid()))\n"
    )
    source = str(Path(__file__).resolve().parents[3] / "src")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) >= int(start_time(os.getpid()))
