"""What a command in a container costs: warm in a running cell, by `docker exec`, by `docker run`.

    .venv-test/bin/python bench/containers.py [ROUNDS]

Starts a Docker Engine of its own (root, `docker.io`), with an image made without a registry.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from redoma import ContainerConfig, ContainerService  # noqa: E402
from tests.containers.real_engines import IMAGE, started, why_not  # noqa: E402


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    why = why_not("docker") or ("" if shutil.which("docker") else "there is no docker client")
    if why:
        print(f"cannot measure here: {why}", file=sys.stderr)
        return 1
    project = tempfile.mkdtemp(prefix="rdm-bench-", dir="/var/tmp")
    with started("docker") as engine:
        service = ContainerService(engine.socket)
        cell = service.create(ContainerConfig(image=IMAGE, project_path=project))
        service.start(cell)
        docker = ["docker", "-H", f"unix://{engine.socket}"]

        def warm() -> None:
            with service.exec_unjudged(cell, ["true"]) as stream:
                stream.read()
                assert stream.wait() == 0

        def client(*words: str) -> Callable[[], object]:
            return lambda: subprocess.run([*docker, *words], check=True, capture_output=True)

        ways = {
            "exec in a running cell": warm,
            "docker exec": client("exec", cell, "true"),
            "docker run --rm": client("run", "--rm", "--network", "none", IMAGE, "true"),
        }
        took: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                began = time.perf_counter()
                way()
                took[name].append((time.perf_counter() - began) * 1000)
        service.remove(cell)
    Path(project).rmdir()
    for name, times in took.items():
        print(f"{name:24} {statistics.median(times):7.1f} ms (median of {rounds})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
