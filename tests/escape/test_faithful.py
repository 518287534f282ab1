"""What a caller is told of a command's end is what happened, and no payload can make it otherwise."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.escape.inside import Box, Redoma
from tests.escape.world import World

pytestmark = pytest.mark.both_users

STANDARD = Redoma()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("code", [0, 1, 2, 7, 100, 124, 125, 126, 127, 255])
def test_the_exit_status_is_the_commands_own(world: World, code: int) -> None:
    ran = Box(STANDARD, world).shell(f"exit {code}")
    assert (ran.status, ran.signal, ran.outcome) == (code, None, "exited")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV", "SIGABRT", "SIGHUP", "SIGUSR1"])
def test_the_signal_is_the_commands_own(world: World, name: str) -> None:
    number = int(getattr(signal, name))
    ran = Box(STANDARD, world).shell(f"kill -{number} $$")
    assert (ran.status, ran.signal, ran.outcome) == (128 + number, number, "signalled")


def test_a_missing_program_and_one_that_cannot_run_are_told_apart(world: World) -> None:
    (world.workspace / "plain").write_text("no program\n")
    ran = [STANDARD.run([f"{world.workspace}/{name}"], world) for name in ("missing", "plain")]
    assert [one.status for one in ran] == [127, 126]


def test_the_command_line_ends_as_the_command_did(world: World) -> None:
    statuses = []
    for text in ("exit 3", "kill -9 $$", "exit 0"):
        argv = STANDARD.argv(["/bin/sh", "-c", text], world)
        done = subprocess.run(
            argv, env=world.env, cwd=world.workspace, capture_output=True, timeout=60, check=False
        )
        statuses.append(done.returncode)
    assert statuses == [3, 137, 0]


def test_output_comes_whole_and_apart(world: World) -> None:
    text = "i=0; while [ $i -lt 2000 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done"
    ran = STANDARD.run(["/bin/sh", "-c", text], world)
    lines = [f"{{}}{number}" for number in range(2000)]
    assert ran.out.decode().split() == [line.format("out") for line in lines]
    assert ran.err.decode().split() == [line.format("err") for line in lines]


def _forge():
    import os

    for pid in ("1", "self"):
        # Where the first process is covered or closed, its descriptors are tried without names.
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            names = range(200)
        for name in names:
            try:
                fd = os.open(f"/proc/{pid}/fd/{name}", os.O_WRONLY | os.O_NONBLOCK)
                os.write(fd, b'{ "exit-code": 0 }\n')
            except OSError:
                continue
    os._exit(9)


def test_the_payload_cannot_forge_its_own_end(world: World) -> None:
    """The sandbox reports the end on a channel of its own: what is written elsewhere is none."""
    for engine in ("forkserver", "bubblewrap"):
        box = Box(Redoma("standard", engine), world)
        box.call(_forge)
        assert box.last is not None
        assert (box.last.status, box.last.outcome) == (9, "exited")


def test_the_interpreter_of_this_test_is_not_what_runs_inside(world: World) -> None:
    """Guards the suite itself: payloads run on the machine's Python, inside."""
    ran = Box(STANDARD, world).shell("command -v python3")
    assert ran.out.split()[-1].startswith(b"/usr/")
    assert sys.executable
