"""A guest who may type anything inside a container does nothing to the machine around it.

Every attack works on decoys: a project of its own, and a file beside it that must stay.
"""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from redoma import ContainerConfig, ContainerError, NoEngine, UsageError, replace
from redoma.dialects.containers import DockerService, from_document
from redoma.model.grant import Guarantee
from tests.containers.conftest import LIMITS
from tests.containers.real_engines import IMAGE, RealEngine, limits_are_held
from tests.containers.test_container_life import said

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("S5")]


def test_a_guest_who_removes_everything_removes_only_the_project(
    service: DockerService, cell: str, project: Path
) -> None:
    (project / "file").write_text("in the project")
    said(service, cell, "sh", "-c", "rm -rf /* /.[a-z]* 2>&1")
    assert (project.parent / "victim").read_text() == "as it was"
    assert list(project.iterdir()) == []
    # The image is read-only: the same container goes on.
    assert said(service, cell, "echo", "still here") == ("still here\n", 0)


def test_a_set_user_id_program_gains_nothing(
    service: DockerService, cell: str, project: Path
) -> None:
    inside = said(service, cell, "/bin/suid/busybox", "id", "-u")[0].strip()
    assert inside == said(service, cell, "id", "-u")[0].strip() != "0"
    if os.geteuid() == 0:
        mine = project / "busybox"
        shutil.copy("/bin/busybox", mine)
        mine.chmod(0o4755)
        assert said(service, cell, "/workspace/busybox", "id", "-u")[0].strip() == inside


def test_no_capability_is_left_and_system_calls_are_filtered(
    service: DockerService, cell: str
) -> None:
    for argv in (("cat", "/proc/self/status"), ("cat", "/proc/1/status")):
        lines = dict(line.split(":", 1) for line in said(service, cell, *argv)[0].splitlines())
        seen = {k: lines[k].strip() for k in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")}
        assert set(seen.values()) == {"0" * 16}
        assert (lines["NoNewPrivs"].strip(), lines["Seccomp"].strip()) == ("1", "2")


@pytest.mark.parametrize(
    "attack",
    [
        "mknod /tmp/disk b 254 0",
        "mount -t tmpfs none /tmp",
        "mount -o remount,rw /",
        "unshare -r true",
        "echo x > /proc/sys/kernel/core_pattern",
        "echo c > /proc/sysrq-trigger",
        "echo 1 > /sys/kernel/profiling",
        "touch /etc/x",
        "touch /x",
        "cat /proc/kcore | head -c 1 | grep -q .",
        "kill -9 1 && sleep 1 && true",
    ],
)
def test_what_needs_a_right_is_refused(service: DockerService, cell: str, attack: str) -> None:
    text, code = said(service, cell, "sh", "-c", f"{attack} && echo done-it")
    assert ("done-it" not in text or attack.startswith("kill"), service.status(cell)) == (
        True,
        "running",
    )
    assert code != 0 or attack.startswith("kill")


def test_no_engine_socket_and_nothing_of_the_machine_is_inside(
    service: DockerService, cell: str, project: Path, engine: RealEngine
) -> None:
    (project / "link").symlink_to(project.parent / "victim")
    found = said(service, cell, "sh", "-c", "find / -type s 2>/dev/null; cat link; ls /home /root")
    assert ".sock" not in found[0]
    assert "as it was" not in found[0]
    mounts = [
        line.split() for line in said(service, cell, "cat", "/proc/self/mountinfo")[0].splitlines()
    ]
    from_disk = {row[4] for row in mounts if row[row.index("-") + 2].startswith("/dev/")}
    # Of the machine's disk only the project is seen, and files that the engine itself wrote.
    own = {"/", "/workspace", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/passwd"}
    own |= {
        "/etc/group",
        "/sbin/docker-init",
        "/dev/init",
        "/run/podman-init",
        "/run/.containerenv",
    }
    assert from_disk - own == set()


def test_the_network_of_the_host_is_not_reached(service: DockerService, cell: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        port = server.getsockname()[1]
        said(service, cell, "sh", "-c", f"echo x | nc -w 1 127.0.0.1 {port}")
        said(service, cell, "sh", "-c", f"wget -T 1 -O - http://localhost:{port}/")
        with pytest.raises(TimeoutError):
            server.accept()
    text = said(service, cell, "cat", "/proc/net/dev")[0]
    assert {line.split(":")[0].strip() for line in text.splitlines() if ":" in line} == {"lo"}


@pytest.mark.parametrize("mode", ["host", "container:other", "ns:/proc/1/ns/net", "slirp4netns"])
def test_a_network_that_reaches_the_host_is_refused(
    service: DockerService, config: ContainerConfig, mode: str
) -> None:
    with pytest.raises(UsageError, match="no network"):
        service.create(replace(config, network_mode=mode))
    assert service.list() == []


def test_processes_of_the_machine_are_not_seen(service: DockerService, cell: str) -> None:
    seen = said(service, cell, "sh", "-c", "ls -d /proc/[0-9]* | wc -l")[0]
    assert int(seen) < 8


def test_memory_and_processes_end_at_their_limits(
    service: DockerService, cell: str, engine: RealEngine
) -> None:
    if not limits_are_held(engine.kind):
        pytest.skip("this engine holds no limits here, which is refused: see the next test")
    filled = said(
        service, cell, "sh", "-c", "head -c 200000000 /dev/zero | tail -c 199999999 | wc -c"
    )
    assert "199999999" not in filled[0]
    forks = "i=0; while [ $i -lt 400 ]; do sleep 5 & i=$((i+1)); done; echo all-of-them"
    assert "all-of-them" not in said(service, cell, "sh", "-c", forks)[0]


def test_limits_that_an_engine_ignores_are_a_refusal_with_the_fix(
    service: DockerService, config: ContainerConfig, engine: RealEngine
) -> None:
    strict = replace(config, without=frozenset())
    made = service.create(strict)
    if limits_are_held(engine.kind):
        service.start(made)
        assert service.status(made) == "running"
        return
    with pytest.raises(NoEngine) as caught:
        service.start(made)
    assert set(caught.value.required) == {g.value for g in LIMITS}
    assert "without=" in caught.value.hint
    assert service.list() == []


def test_doing_without_one_guarantee_is_doing_without_no_other(
    service: DockerService, config: ContainerConfig, engine: RealEngine
) -> None:
    if limits_are_held(engine.kind):
        pytest.skip("this engine holds them all")
    made = service.create(replace(config, without=frozenset({Guarantee.CPU_CAPPED})))
    with pytest.raises(NoEngine) as caught:
        service.start(made)
    assert Guarantee.MEMORY_CAPPED.value in caught.value.required
    assert Guarantee.CPU_CAPPED.value not in caught.value.required


def test_a_project_that_becomes_a_link_before_the_start_is_not_mounted(
    service: DockerService, config: ContainerConfig, project: Path
) -> None:
    made = service.create(config)
    project.rename(project.parent / "moved")
    other = project.parent / "other"
    other.mkdir()
    (other / "key").write_text("of somebody")
    project.symlink_to(other)
    with pytest.raises((NoEngine, ContainerError)):
        service.start(made)
    assert service.list() == [] or service.list()[0].status != "running"


@pytest.mark.requirement("S3")
def test_the_documents_configuration_is_what_the_engine_is_given(
    service: DockerService, engine: RealEngine, config: ContainerConfig, project: Path
) -> None:
    from redoma.jail.containers.engine_socket import ApiCall, EngineSocket

    document = from_document(
        Image=IMAGE,
        ProjectPath=str(project),
        Memory="64m",
        CPUs="0.5",
        Shell="/bin/sh",
        EnvVars=["NAME=value"],
        ReadOnly=True,
        NetworkMode="none",
    )
    made = service.create(replace(document, without=config.without))
    service.start(made)
    path = f"/containers/{made}/json"
    told = EngineSocket(engine.socket).ask(ApiCall(method="GET", path=path)).json
    host = told["HostConfig"]
    assert (host["ReadonlyRootfs"], host["NetworkMode"], host["Init"]) == (True, "none", True)
    if limits_are_held(engine.kind):
        assert (host["Memory"], host["NanoCpus"], host["PidsLimit"]) == (64 << 20, 500000000, 256)
    inside = said(service, made, "sh", "-c", "echo $NAME; pwd; df -k /tmp /var/tmp | tail -n 2")[0]
    lines = inside.splitlines()
    assert lines[:2] == ["value", "/workspace"]
    assert [line.split()[1] for line in lines[2:]] == ["524288", "262144"]
    assert said(service, made, "sh", "-c", "cp /bin/busybox /tmp/b && /tmp/b true")[1] != 0
