"""What a door costs: `true` over MCP, and as an Inspect `exec`, against a warm `Sandbox.run`.

    .venv-test/bin/python bench/doors.py [ROUNDS]

All in one run, in turns. Inspect's own Docker provider stands beside them where a Docker Engine
answers (DOCKER_HOST or the usual socket) and the image `busybox` is there.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from inspect_ai.util import SandboxEnvironment  # noqa: E402

from redoma import Cell  # noqa: E402
from redoma.integrations.inspect_evals import RedomaSandboxEnvironment  # noqa: E402
from tests.doors.conversation import conversation, told  # noqa: E402
from tests.pipeline.place import Place  # noqa: E402

MOST = 2.0
WARM = "Sandbox.run, warm"
COMPOSE = """\
services:
  default:
    image: busybox
    command: tail -f /dev/null
    init: true
    network_mode: none
"""


async def docker(stack: AsyncExitStack, base: Path) -> SandboxEnvironment | str:
    """A sandbox of Inspect's own Docker provider, or why there is none here."""
    if not shutil.which("docker"):
        return "there is no docker client"
    image = ["docker", "image", "inspect", "busybox"]
    seen = await asyncio.to_thread(subprocess.run, image, capture_output=True, check=False)
    if seen.returncode:
        return "no Docker Engine answers, or it has no image busybox"
    from inspect_ai.util._sandbox.docker.docker import DockerSandboxEnvironment

    file = base / "compose.yaml"
    file.write_text(COMPOSE)
    await DockerSandboxEnvironment.task_init("bench", str(file))
    made = await DockerSandboxEnvironment.sample_init("bench", str(file), {})

    async def end() -> None:
        await DockerSandboxEnvironment.sample_cleanup("bench", str(file), made, interrupted=False)
        await DockerSandboxEnvironment.task_cleanup("bench", str(file), cleanup=True)

    stack.push_async_callback(end)
    return made["default"]


async def measured(place: Place, rounds: int) -> tuple[dict[str, float], str]:
    """Milliseconds by door, the median of all rounds."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(conversation(place))
        cell = stack.enter_context(Cell())
        sandbox = stack.enter_context(place.sandbox())
        provider = RedomaSandboxEnvironment(cell)

        async def warm() -> None:
            assert sandbox.run("true").exit_code == 0

        async def mcp() -> None:
            assert (await told(client, "run", command="true"))["exit_code"] == 0

        async def inspected() -> None:
            assert (await provider.exec(["true"])).success

        ways: dict[str, Callable[[], Awaitable[None]]] = {
            WARM: warm,
            "MCP run": mcp,
            "Inspect exec": inspected,
        }
        other = await docker(stack, place.base)
        if not isinstance(other, str):

            async def by_docker() -> None:
                assert (await other.exec(["true"])).success

            ways["Inspect exec, Docker"] = by_docker
        took: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(rounds + 3):
            for name, way in ways.items():
                began = time.perf_counter()
                await way()
                if number >= 3:
                    took[name].append((time.perf_counter() - began) * 1000)
    why = other if isinstance(other, str) else ""
    return {name: statistics.median(times) for name, times in took.items()}, why


def main() -> int:
    """0 where each door of ours costs at most twice a warm run."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    base = Path(tempfile.mkdtemp(prefix="rdm-bench-", dir="/var/tmp"))
    try:
        for name in ("home", "state", "config"):
            (base / name).mkdir(mode=0o700)
        found, why = asyncio.run(measured(Place(base), rounds))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    for name, ms in found.items():
        print(f"{name:22} {ms:8.1f} ms   {ms / found[WARM]:5.2f} × a warm run")
    if why:
        print(f"Docker's Inspect provider was not measured: {why}")
    ours = ("MCP run", "Inspect exec")
    return 0 if all(found[name] <= MOST * found[WARM] for name in ours) else 1


if __name__ == "__main__":
    sys.exit(main())
