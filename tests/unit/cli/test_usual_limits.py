"""What a command gets where nobody said anything fits real work; `none` takes each limit off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from redoma.jail.profiles.profile import load, of_machine
from tests.house.tree import PACKAGE

START = (sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py"))
MB, GB = 1 << 20, 1 << 30
FLAGS = (
    "--timeout", "--memory", "--cpu", "--cpu-time", "--processes", "--open-files", "--file-size",
    "--total-written", "--keep-free", "--tmp", "--output", "--output-total",
)  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


def redoma(workspace: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*START, *arguments], cwd=workspace, env={**os.environ}, capture_output=True, timeout=60,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("level", ["standard", "minimal"])
def test_the_usual_limits_are_those_of_the_machine(level: str) -> None:
    limits = load(level).limits
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    assert limits.memory is not None
    assert limits.memory == of_machine("memory") <= max(half, 2 * GB)
    assert limits.memory >= min(half, 2 * GB)
    assert (limits.processes or 0) >= 1024
    assert (limits.file_size, limits.wall_seconds, limits.open_files) == (None, None, None)
    assert (limits.total_written, limits.keep_free) == (None, GB)


@pytest.mark.both_users
@pytest.mark.parametrize("flag", FLAGS)
def test_none_takes_a_limit_off(workspace: Path, flag: str) -> None:
    done = redoma(workspace, "run", "--json", flag, "none", "echo x > made")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (workspace / "made").exists()
    if flag == "--memory":
        assert not {"memory-capped", "memory-watched"} & set(told["enforcement"]["held"])
        assert "memory" not in told["limited_by"]


@pytest.mark.both_users
def test_none_takes_every_limit_off_at_once(workspace: Path) -> None:
    every = [part for flag in FLAGS for part in (flag, "none")]
    assert redoma(workspace, "run", *every, "echo x > made").returncode == 0


@pytest.mark.both_users
def test_files_larger_than_before_are_made_and_applied(workspace: Path) -> None:
    done = redoma(workspace, "run", "head -c 130000000 /dev/zero > large")
    assert done.returncode == 0, done.stderr
    assert (workspace / "large").stat().st_size == 130_000_000


@pytest.mark.both_users
def test_all_that_a_command_prints_is_passed_on(workspace: Path) -> None:
    done = redoma(workspace, "run", "head -c 20000000 /dev/zero")
    assert (done.returncode, len(done.stdout)) == (0, 20_000_000)
    assert b"limits met" not in done.stderr


@pytest.mark.both_users
def test_space_can_be_reserved_on_the_disk(workspace: Path) -> None:
    reserve = "import os; os.posix_fallocate(os.open('f', os.O_CREAT | os.O_WRONLY), 0, 5000000)"
    assert redoma(workspace, "run", f'python3 -c "{reserve}"').returncode == 0
    assert (workspace / "f").stat().st_blocks * 512 >= 5_000_000


@pytest.mark.both_users
@pytest.mark.parametrize(
    "command",
    [
        "touch -d 2001-01-01 large",
        "chmod 640 large",
        "mv large renamed && mv renamed large",
        "printf x | dd of=large bs=1 count=1 conv=notrunc status=none",
        "ln large other 2>/dev/null; rm -f other; cp small small2",
    ],
)
def test_what_was_over_a_limit_before_can_be_touched(workspace: Path, command: str) -> None:
    (workspace / "large").write_bytes(bytes(5 * MB))
    (workspace / "small").write_bytes(b"small")
    done = redoma(workspace, "run", "--file-size", "1M", command)
    assert done.returncode == 0, done.stderr
    assert b"limits met" not in done.stderr
    assert (workspace / "large").stat().st_size == 5 * MB


@pytest.mark.both_users
@pytest.mark.parametrize("command", ["cp small new", "cat small >> large", "cp large new"])
def test_what_is_new_over_a_limit_is_held_also_beside_a_larger_file(
    workspace: Path, command: str
) -> None:
    (workspace / "large").write_bytes(bytes(5 * MB))
    (workspace / "small").write_bytes(bytes(2 * MB))
    done = redoma(workspace, "run", "--json", "--file-size", "1M", f"{command}; true")
    told = json.loads(done.stdout)
    assert (done.returncode != 0, told["limits_reached"]) == (True, ["file_size"])
    assert not (workspace / "new").exists()
    assert (workspace / "large").stat().st_size == 5 * MB


@pytest.mark.both_users
def test_doctor_shows_each_limit_with_its_flag(workspace: Path) -> None:
    told = redoma(workspace, "doctor").stdout.decode()
    for flag in FLAGS:
        assert f" {flag}" in told
    data = json.loads(redoma(workspace, "doctor", "--json").stdout)
    assert data["limits"]["memory"] == of_machine("memory")
    assert data["limits"]["wall_seconds"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk: bin/test runs it as root")
@pytest.mark.parametrize("wait", ["sleep 0.5", ":"])
def test_a_disk_that_gets_full_ends_the_run_and_nothing_is_applied(
    tmp_path: Path, wait: str
) -> None:
    script = """
        mount -t tmpfs -o size=64m none "$1" && mkdir "$1/w" && cd "$1/w" || exit 99
        shift
        "$@" >../out 2>../err; echo $? >../status
        cat ../status ../err; ls
    """
    # Slowly: on a busy machine the watcher must see it before not even the audit log can be written.
    fill = "for i in $(seq 90); do head -c 1000000 /dev/zero >> big; sleep 0.01; done 2>/dev/null"
    command = f"{fill}; echo on > on; {wait}"
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": f"{tmp_path}/state"}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", str(tmp_path), *START, "run", command],
        env={**os.environ, **home}, capture_output=True, timeout=60, check=False, text=True,
    )  # fmt: skip
    told = done.stdout.splitlines()
    assert told[0] in ("126", "137"), done
    assert "limits met: keep free" in done.stdout
    assert "--keep-free with less" in done.stdout
    assert {"big", "on"}.isdisjoint(told)
