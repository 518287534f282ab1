"""Real evaluations with Inspect's mock model: files, setup, tools, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from redoma import Cell
from redoma.integrations.inspect_evals import CellSettings, RedomaSandboxEnvironment, settings_of
from tests.evals.samples import left_behind
from tests.house.tree import ROOT

pytestmark = [pytest.mark.filterwarnings("ignore")]
EVALUATION = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import solver
from inspect_ai.util import sandbox


@solver
def looks():
    async def solve(state, generate):
        found = await sandbox().exec(["sh", "-c", "cat /proc/1/status 2>&1; cat given"])
        state.output.completion = found.stdout
        return state

    return solve


@task
def looking():
    return Task(
        dataset=[Sample(input="?", target="told", files={"given": "told"})],
        solver=looks(), scorer=includes(), sandbox="redoma",
    )
"""

GUIDE = """
import redoma.integrations.inspect_evals
from inspect_ai import eval as evaluate
from tests.evals.samples import scripted

log = evaluate(task, model=scripted("wc -l < f"), display="none", log_dir="logs")[0]
print(log.status, log.samples[0].output.completion.strip())
"""


def python(*words: str, cwd: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """A run of its own: what an evaluation leaves to the collector is no other test's."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": f"{path}{ROOT / 'src'}:{ROOT}", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_samples_at_once_have_their_own_files_and_leave_nothing(tmp_path: Path) -> None:
    done = python("-m", "tests.evals.samples", "8", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("8 samples at once: success, 8 right"), done.stdout
    assert left_behind() == []


def test_the_example_of_the_guide_is_an_evaluation(tmp_path: Path) -> None:
    text = (ROOT / "docs/guides/frameworks.md").read_text("utf-8")
    code = next(
        each for each in re.findall(r"```python\n(.*?)```", text, re.S) if "import Task" in each
    )
    (tmp_path / "guide.py").write_text(code + GUIDE)
    done = python("guide.py", cwd=tmp_path)
    assert done.stdout == "success 2\n", done.stdout + done.stderr


def test_inspect_finds_the_provider_by_its_entry_point(tmp_path: Path) -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    ((name, value),) = points["inspect_ai"].items()
    info = tmp_path / "site" / "redoma-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: redoma\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[inspect_ai]\n{name} = {value}\n")
    (tmp_path / "looking.py").write_text(EVALUATION)
    words = ("eval", "looking.py", "--model", "mockllm/model", "--display", "plain")
    logs = ("--log-dir", str(tmp_path / "logs"))
    done = python("-m", "inspect_ai", *words, *logs, cwd=tmp_path, path=f"{tmp_path / 'site'}:")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "accuracy" in done.stdout and "1.0" in done.stdout, done.stdout


def test_the_tools_that_inspect_brings_along_work_in_a_cell() -> None:
    with Cell() as cell:

        async def talk() -> None:
            from inspect_ai.util import ExecRemoteAwaitableOptions
            from inspect_ai.util._sandbox.events import SandboxEnvironmentProxy

            sandbox = SandboxEnvironmentProxy(RedomaSandboxEnvironment(cell))
            options = ExecRemoteAwaitableOptions(cwd="/workspace")
            command = ["sh", "-c", "id -un; pwd"]
            found = await sandbox.exec_remote(command, options, stream=False)
            assert found.stdout == "redoma\n/workspace\n", found

        asyncio.run(talk())


def test_a_cancelled_exec_ends_its_command() -> None:
    with Cell() as cell:

        async def talk() -> None:
            sandbox = RedomaSandboxEnvironment(cell)
            running = asyncio.create_task(sandbox.exec(["sleep", "753197"]))
            until = asyncio.get_running_loop().time() + 30
            while not left_behind() and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(0.05)
            assert left_behind()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            while left_behind() and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(0.05)
            assert left_behind() == []

        asyncio.run(talk())


def test_settings_come_from_a_file_an_object_or_nowhere(tmp_path: Path) -> None:
    (tmp_path / "redoma.yaml").write_text("memory: 1000000000\nenv: {A: b}\n")
    found = settings_of(str(tmp_path / "redoma.yaml"))
    assert (found.memory, found.env, found.processes) == (1_000_000_000, {"A": "b"}, 1024)
    assert settings_of(found) is found
    assert settings_of(None) == CellSettings()
    (tmp_path / "wrong.yaml").write_text("memroy: 1\n")
    with pytest.raises(ValueError, match="memroy"):
        settings_of(str(tmp_path / "wrong.yaml"))
