"""A process with a secret in its memory leaves no core dump."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.requirement("S10")
# Put together in the process: else the dump has it from the command line.
_DIES = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (1 << 27, resource.getrlimit(resource.RLIMIT_CORE)[1]))
held = "-".join(["kept", "in", "memory", "5f2c81d0"])
if sys.argv[1] == "guarded":
    from redoma.base import core_dumps
    core_dumps.none_from_now_on()
os.abort()
"""
VALUE = b"kept-in-memory-5f2c81d0"


def dumps_of(place: Path, how: str) -> tuple[bool, list[bytes]]:
    """Whether the kernel wrote a core dump of a process that died, and every file it left."""
    process = subprocess.Popen(
        [sys.executable, "-c", _DIES, how],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -signal.SIGABRT
    return os.WCOREDUMP(status), [path.read_bytes() for path in place.iterdir()]


def test_no_core_dump_is_written_once_a_secret_was_opened(tmp_path: Path) -> None:
    if resource.getrlimit(resource.RLIMIT_CORE)[1] in (0, 1):
        pytest.skip("SKIPPED: no process dumps core here")
    dumped, files = dumps_of(tmp_path, "guarded")
    assert (dumped, files) == (False, [])


def test_without_it_the_secret_would_be_in_the_dump(tmp_path: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if hard in (0, 1) or not pattern.startswith("core"):
        pytest.skip("SKIPPED: core dumps do not go to the directory of a process here")
    dumped, files = dumps_of(tmp_path, "unguarded")
    assert dumped
    assert any(VALUE in data for data in files)
