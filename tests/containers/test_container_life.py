"""A container is made, started, used, stopped and removed, on a real engine."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from redoma import ContainerConfig, ContainerError, replace
from redoma.dialects.containers import AsyncDockerService, DockerService
from redoma.jail.containers.engine_socket import ApiCall, EngineSocket
from tests.containers.real_engines import IMAGE, RealEngine

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("S2")]
ROOT = Path(__file__).resolve().parents[2]


def said(service: DockerService, cell: str, *argv: str, given: bytes = b"") -> tuple[str, int]:
    with service.exec_unjudged(cell, argv) as stream:
        if given:
            stream.write(given)
        stream.end_input()
        return stream.read().decode(), stream.wait()


def test_a_container_goes_through_its_whole_life(
    service: DockerService, config: ContainerConfig
) -> None:
    made = service.CreateContainer(config)
    seen = [service.GetContainerStatus(made)]
    service.StartContainer(made)
    seen.append(service.GetContainerStatus(made))
    service.StopContainer(made)
    seen.append(service.GetContainerStatus(made))
    service.RestartContainer(made)
    seen.append(service.GetContainerStatus(made))
    service.RemoveContainer(made)
    assert [each for each in seen if each != "configured"] == [
        *(["created"] if seen[0] == "created" else []),
        "running",
        "exited",
        "running",
    ]
    assert (service.IsDockerAvailable(), service.ListContainers()) == (True, [])
    with pytest.raises(ContainerError, match="no container"):
        service.GetContainerStatus(made)
    service.remove(made)  # gone already: no error


def test_a_command_inside_reads_writes_and_ends_with_its_own_status(
    service: DockerService, cell: str
) -> None:
    text, code = said(service, cell, "sh", "-c", "cat; echo err >&2; exit 7", given=b"in\n")
    assert (sorted(text.split()), code) == (["err", "in"], 7)


def test_the_two_streams_of_a_command_can_be_told_apart(service: DockerService, cell: str) -> None:
    with service.exec_unjudged(cell, ["sh", "-c", "echo out; sleep 0.1; echo err >&2"]) as stream:
        frames = [stream.read_frame(), stream.read_frame(), stream.read_frame()]
    assert frames == [(1, b"out\n"), (2, b"err\n"), (0, b"")]


def test_a_megabyte_goes_in_and_comes_out_whole(service: DockerService, cell: str) -> None:
    data = os.urandom(1 << 20)
    with service.exec_unjudged(cell, ["cat"]) as stream:
        writer = threading.Thread(target=lambda: (stream.write(data), stream.end_input()))
        writer.start()
        came = stream.read()
        writer.join()
    assert came == data


def test_a_terminal_has_the_size_that_it_was_given(service: DockerService, cell: str) -> None:
    with service.exec_unjudged(cell, ["sh"], terminal=True) as stream:
        stream.resize(33, 77)
        stream.write(b"stty size; exit 4\n")
        assert b"33 77" in stream.read()
        assert stream.wait() == 4


def test_files_made_inside_belong_to_whom_the_project_belongs(
    service: DockerService, cell: str, project: Path
) -> None:
    assert said(service, cell, "sh", "-c", "echo x > made; id -u")[1] == 0
    made, above = (project / "made").stat(), project.stat()
    assert (made.st_uid, made.st_gid) == (above.st_uid, above.st_gid)


def test_a_stream_that_is_closed_ends_its_command(
    service: DockerService, cell: str, project: Path
) -> None:
    stream = service.exec_unjudged(cell, ["sh", "-c", "while :; do echo x > beat; sleep 0.1; done"])
    until = time.monotonic() + 60
    while not (project / "beat").exists() and time.monotonic() < until:
        time.sleep(0.05)
    stream.close()
    until = time.monotonic() + 20
    while (project / "beat").exists() and time.monotonic() < until:
        # One that has ended makes no other, however long its end took.
        (project / "beat").unlink()
        time.sleep(0.5)
    assert not (project / "beat").exists()


def test_a_stop_asks_first_and_kills_what_does_not_listen(
    service: DockerService, cell: str, project: Path
) -> None:
    asked = service.exec_unjudged(
        cell,
        [
            "sh",
            "-c",
            "trap 'echo asked > heard; exit' TERM; echo > up; while :; do sleep 0.1; done",
        ],
    )
    deaf = service.exec_unjudged(cell, ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"])
    until = time.monotonic() + 60
    while not (project / "up").exists() and time.monotonic() < until:
        time.sleep(0.05)
    began = time.monotonic()
    service.stop(cell, grace=1.5)
    took = time.monotonic() - began
    for stream in (asked, deaf):
        stream.close()
    assert ((project / "heard").read_text(), service.status(cell)) == ("asked\n", "exited")
    assert took < 10


def test_a_list_has_only_what_is_ours_and_others_are_left_alone(
    service: DockerService, cell: str, engine: RealEngine
) -> None:
    client = EngineSocket(engine.socket)
    body = {"Image": IMAGE, "Cmd": ["sleep", "60"], "HostConfig": {"NetworkMode": "none"}}
    path = "/containers/create?name=a-database"
    other = client.ask(ApiCall(method="POST", path=path, body=body)).json["Id"]
    try:
        assert [each.id for each in service.list()] == [cell]
        assert service.list()[0].name.startswith("orch-session-")
        for operation in (service.start, service.stop, service.remove, service.status):
            with pytest.raises(ContainerError, match="none of ours"):
                operation(other)
        assert client.ask(ApiCall(method="GET", path=f"/containers/{other}/json")).ok
    finally:
        client.ask(ApiCall(method="DELETE", path=f"/containers/{other}?force=1"))


def test_ten_containers_leave_nothing(service: DockerService, config: ContainerConfig) -> None:
    _cycles(service, config, 10)


@pytest.mark.full
def test_a_hundred_containers_leave_nothing(
    service: DockerService, config: ContainerConfig
) -> None:
    _cycles(service, config, 100)


def _cycles(service: DockerService, config: ContainerConfig, count: int) -> None:
    def left() -> tuple[int, int]:
        return len(service.list()), len(os.listdir("/proc/self/fd"))

    def roots() -> set[str]:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return {line.split()[4] for line in lines}

    service.list()
    before = left()
    made_roots: set[str] = set()
    for _ in range(count):
        made = service.create(config)
        without = roots()
        service.start(made)
        made_roots |= {root for root in roots() - without if root.endswith("/merged")}
        service.remove(made)
    assert left() == before
    assert made_roots & roots() == set()


def test_the_engine_may_be_killed_and_started_again(
    service: DockerService, cell: str, engine: RealEngine
) -> None:
    engine.kill()
    with pytest.raises(ContainerError, match="does not answer") as caught:
        service.status(cell)
    assert "hint" not in str(caught.value)
    assert caught.value.hint
    engine.start()
    assert service.status(cell) in ("running", "exited")
    service.restart(cell, grace=1)
    assert said(service, cell, "echo", "again") == ("again\n", 0)
    service.remove(cell)
    assert service.list() == []


_ANOTHER = """
import sys
sys.path.insert(0, sys.argv[1])
from redoma import ContainerConfig, ContainerService
from redoma.model.grant import Guarantee
service = ContainerService(sys.argv[2])
without = frozenset(map(Guarantee, sys.argv[5].split()))
config = ContainerConfig(image=sys.argv[3], project_path=sys.argv[4], memory="64m", cpus="0.5", without=without)
made = service.create(config)
service.start(made)
print(made, flush=True)
sys.stdin.read()
service.remove(made)
"""


def _another(engine: RealEngine, config: ContainerConfig) -> subprocess.Popen[str]:
    without = " ".join(g.value for g in config.without)
    return subprocess.Popen(
        [
            *(sys.executable, "-c", _ANOTHER, str(ROOT / "src"), engine.socket),
            *(config.image, config.project_path, without),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_at_once_do_not_meet(
    service: DockerService, config: ContainerConfig, engine: RealEngine
) -> None:
    both = [_another(engine, config), _another(engine, config)]
    try:
        ids = {each.stdout.readline().strip() for each in both if each.stdout}
        assert (len(ids), {each.id for each in service.list()}) == (2, ids)
        # Their owners live: nothing of theirs is collected.
        assert service.collect() == []
    finally:
        for each in both:
            each.communicate("")
    assert ([each.returncode for each in both], service.list()) == ([0, 0], [])


def test_what_a_crashed_host_left_is_collected_by_gc(
    service: DockerService, config: ContainerConfig, engine: RealEngine, cell: str
) -> None:
    crashed = _another(engine, config)
    assert crashed.stdout is not None
    assert crashed.stdin is not None
    left = crashed.stdout.readline().strip()
    crashed.kill()
    crashed.wait()
    crashed.stdout.close()
    crashed.stdin.close()
    env = {**os.environ, "DOCKER_HOST": f"unix://{engine.socket}"}
    gc = [sys.executable, "-m", "redoma", "gc", "--json"]

    def told(*more: str) -> list[str]:
        ended = subprocess.run(
            [*gc, *more],
            env={**env, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            check=True,
        )
        return [each["id"] for each in json.loads(ended.stdout)["containers"]]

    assert told("--dry-run") == [left]
    assert {each.id for each in service.list()} == {left, cell}
    assert told() == [left]
    assert [each.id for each in service.list()] == [cell]


def test_the_same_operations_can_be_awaited(engine: RealEngine, config: ContainerConfig) -> None:
    async def go() -> tuple[str, bytes, int, bytes, list[object]]:
        service = AsyncDockerService(engine.socket)
        made = await service.CreateContainer(config)
        await service.StartContainer(made)
        status = await service.GetContainerStatus(made)
        async with await service.exec_unjudged(made, ["sh", "-c", "cat; exit 5"]) as stream:
            await stream.write(b"awaited")
            await stream.end_input()
            text, code = await stream.read(), await stream.wait()
        async with await service.exec_unjudged(made, ["sleep", "60"]) as stream:
            try:
                await asyncio.wait_for(stream.read_frame(), 0.2)
                ended = b"it ended"
            except TimeoutError:
                ended = b"still there"
        await service.RemoveContainer(made)
        return status, text, code, ended, list(await service.ListContainers())

    assert asyncio.run(go()) == ("running", b"awaited", 5, b"still there", [])


def test_a_container_whose_shell_is_not_there_says_so(
    service: DockerService, config: ContainerConfig
) -> None:
    made = service.create(replace(config, shell="/bin/no-such-shell"))
    with pytest.raises(ContainerError) as caught:
        service.start(made)
    assert caught.value.hint
