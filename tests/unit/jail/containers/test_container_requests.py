"""What a container may be given, without any engine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from redoma import ContainerConfig, NoEngine, UsageError, replace
from redoma.dialects.containers import DockerService, from_document
from redoma.jail.containers.create_request import create_body, memory_bytes, nano_cpus
from redoma.jail.containers.exec_stream import FrameDecoder
from redoma.jail.containers.images import DETECTED
from redoma.jail.containers.project_path import project_directory
from redoma.model.container import ContainerEngine

ENGINE = ContainerEngine(kind="docker", version="1", socket="/run/docker.sock")


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("name", DETECTED)
def test_an_image_is_found_by_the_projects_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert (
        DockerService.DetectImage(str(tmp_path))
        == {
            "package.json": "node:20-alpine",
            "go.mod": "golang:1.22-alpine",
            "requirements.txt": "python:3.12-slim",
            "Cargo.toml": "rust:1.75-slim",
            "Gemfile": "ruby:3.3-slim",
        }[name]
    )


@pytest.mark.requirement("S4")
def test_a_dockerfile_comes_before_every_other_file_and_nothing_is_alpine(tmp_path: Path) -> None:
    assert DockerService.DetectImage(str(tmp_path)) == "alpine:latest"
    (tmp_path / "package.json").touch()
    (tmp_path / "Dockerfile").touch()
    assert DockerService.DetectImage(str(tmp_path)) == f"build:{tmp_path}"


@pytest.mark.requirement("S3", "S5")
def test_the_documents_command_line_is_the_documents() -> None:
    made = DockerService.build_run_args(
        from_document(Image="node:20-alpine", ProjectPath="/srv/app", ReadOnly=True)
    )
    name = made[4]
    assert made == [
        *("run", "-it", "--rm", "--name", name, "-v", "/srv/app:/workspace", "-w", "/workspace"),
        *("--memory", "2g", "--cpus", "2", "--pids-limit", "256"),
        *("--security-opt", "no-new-privileges", "--read-only"),
        *("--tmpfs", "/tmp:rw,noexec,nosuid,size=512m"),
        *("--tmpfs", "/var/tmp:rw,noexec,nosuid,size=256m"),
        *("--network", "none", "node:20-alpine", "/bin/sh"),
    ]
    assert name.startswith("orch-session-")
    assert len(name) == len("orch-session-") + 8


@pytest.mark.parametrize("path", ["/", "/etc", "/etc/ssl", "/home", "/root", "/usr/share", "/run"])
def test_the_machine_is_no_project(path: str) -> None:
    with pytest.raises(UsageError):
        project_directory(path)


def test_what_leads_elsewhere_or_holds_keys_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in ("project", ".ssh", "with-socket", "a:b", "above/run"):
        (home / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (home / "link").symlink_to(home / "project")
    (home / "way").symlink_to(home)
    for name in ("docker.sock",):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(home / "with-socket" / name))
    listener = home / "above/run/engine.sock"
    listener.touch()
    refused = [
        *(".", "link", "way/project", "project/../.ssh", ".ssh", "with-socket", "a:b", "above"),
        *("no-such", "project\0", ""),
    ]
    for name in refused:
        path = str(home / name) if name else ""
        path = str(home) + "/project/../.ssh" if ".." in name else path
        with pytest.raises(UsageError):
            project_directory(path, str(listener))
    status = (home / "project").stat()
    assert project_directory(str(home / "project"), str(listener)) == (
        str(home / "project"),
        (status.st_dev, status.st_ino),
    )


@pytest.mark.requirement("S3")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("memory", "2 elephants"),
        ("memory", "1k"),
        ("cpus", "-1"),
        ("cpus", "0"),
        ("shell", "sh"),
        ("env_vars", ("NO VALUE",)),
        ("env_vars", ("A=b\0c",)),
        ("ports", ("70000",)),
        ("ports", ("8080:80",)),
        ("network_mode", "host"),
    ],
)
def test_a_field_that_means_nothing_is_refused(field: str, value: object) -> None:
    config = replace(ContainerConfig(project_path="/srv/app"), **{field: value})
    with pytest.raises(UsageError) as caught:
        create_body(config, ENGINE, image="x", user=(1, 1))
    assert caught.value.hint


@pytest.mark.requirement("S3")
def test_a_port_is_published_on_loopback_alone() -> None:
    config = ContainerConfig(project_path="/srv/app", network_mode="bridge", ports=("8080:80",))
    host = create_body(config, ENGINE, image="x", user=(1, 1))["HostConfig"]
    assert host["PortBindings"] == {"80/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8080"}]}


def test_sizes_are_read_as_docker_reads_them() -> None:
    assert [memory_bytes(text) for text in ("2g", "512m", "65536k", "6291456")] == [
        2 << 30,
        512 << 20,
        64 << 20,
        6 << 20,
    ]
    assert nano_cpus("0.5") == 500_000_000
    assert nano_cpus("9999") == (os.cpu_count() or 1) * 1_000_000_000


def test_a_document_field_that_does_not_exist_is_named() -> None:
    with pytest.raises(UsageError, match="Privileged"):
        from_document(ProjectPath="/srv/app", Privileged=True)


def test_frames_are_the_same_in_whatever_pieces_they_come() -> None:
    sent = b"\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\3err\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\1!"
    for size in (1, 2, 3, 7, 8, 9, 13, 100):
        decoder = FrameDecoder(terminal=False)
        came = [f for at in range(0, len(sent), size) for f in decoder.feed(sent[at : at + size])]
        both = {n: b"".join(data for number, data in came if number == n) for n in (1, 2)}
        assert both == {1: b"hello!", 2: b"err"}


def test_where_no_engine_is_there_is_a_way_to_install_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = DockerService(str(tmp_path / "no.sock"))
    assert service.is_available() is False
    with pytest.raises(NoEngine) as caught:
        service.list()
    assert "apt-get install" in caught.value.hint


def test_another_users_socket_is_not_trusted(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("tried as root, who can give a socket away")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        made.listen()
        os.chown(tmp_path / "s", 12345, 12345)
        with pytest.raises(NoEngine, match="belongs to user 12345"):
            DockerService(str(tmp_path / "s")).list()
