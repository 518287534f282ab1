"""A hook stands between every two steps of an agent: it starts light and fast."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE

HEAVY = {
    *("dataclasses", "typing", "inspect", "logging", "subprocess", "pathlib", "argparse"),
    *("asyncio", "yaml", "sqlglot", "hypothesis", "site", "threading", "socket", "ctypes"),
}
# What a plain run does without as well: each costs it a millisecond or more.
SPARED = HEAVY - {"socket"} | {"shlex", "importlib", "hashlib"}
MOST_MODULES = 225
PROMISED_RATIO = 6
SITE = sysconfig.get_path("purelib")
ROUNDS = 21
COMMAND = "cd src && grep -rn 'def main' . | head -20"
CALL = {
    "session_id": "a",
    "transcript_path": "/tmp/t.jsonl",
    "cwd": "/home/someone/project",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": COMMAND, "description": "Find the entry points"},
}


@pytest.fixture
def call(tmp_path: Path) -> Path:
    """What an agent writes to the hook before it runs an ordinary command."""
    place = tmp_path / "call.json"
    place.write_text(json.dumps(CALL))
    return place


def test_a_hook_loads_none_of_the_heavy_modules(call: Path) -> None:
    code = (
        f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]; sys.path.append({SITE!r})\n"
        "from redoma.__main__ import main\n"
        "status = main(['hook', 'claude-code'])\n"
        "sys.stderr.write(' '.join(sys.modules)); sys.exit(status)\n"
    )
    start = [sys.executable, "-I", "-S", "-X", "utf8", "-c", code]
    for _ in range(2):  # the first one compiles
        with call.open() as said:
            done = subprocess.run(start, stdin=said, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.split()) & HEAVY == set()


def test_a_plain_run_loads_few_modules_and_none_that_it_can_do_without(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    # Caches of its own: tests beside this one make those of their user anew.
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    code = (
        f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]; sys.path.append({SITE!r})\n"
        "before = set(sys.modules)\n"
        "from redoma.__main__ import main\n"
        f"status = main(['run', '-q', '--workspace', {str(work)!r}, '--', '/bin/true'])\n"
        "sys.stderr.write(' '.join(set(sys.modules) - before)); sys.exit(status)\n"
    )
    start = [sys.executable, "-I", "-S", "-X", "utf8", "-c", code]
    for _ in range(3):  # the first one tries the engines, compiles and keeps
        done = subprocess.run(
            start,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.split())
    assert (loaded & SPARED, len(loaded) <= MOST_MODULES) == (set(), True), sorted(loaded)


def cpu_seconds(command: list[str], said: Path) -> float:
    """The processor time that one process took, from its start to its end."""
    with said.open() as stdin:
        child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime


def test_a_cold_hook_costs_no_more_than_six_bare_interpreters(call: Path) -> None:
    start = [sys.executable, "-I", "-S"]
    bare = [*start, "-c", "pass"]
    hook = [*start, "-X", "utf8", str(PACKAGE / "__main__.py"), "hook", "claude-code"]
    cpu_seconds(hook, call)  # the first call compiles
    pairs = [(cpu_seconds(bare, call), cpu_seconds(hook, call)) for _ in range(ROUNDS)]
    bare_median = statistics.median(pair[0] for pair in pairs)
    hook_median = statistics.median(pair[1] for pair in pairs)
    assert hook_median <= PROMISED_RATIO * bare_median, (
        f"bare {bare_median * 1000:.1f} ms, hook {hook_median * 1000:.1f} ms"
    )
