"""Sockets and named pipes that were there before a run lead nowhere, wherever they are shown."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redoma import Access
from redoma.jail.protect.protected_paths import ProtectedPaths, RunProtection
from redoma.jail.protect.survey import Survey
from redoma.model.errors import EngineFailed
from tests.contract.machine import Machine

pytestmark = pytest.mark.both_users

SAY = 'timeout 1 sh -c "echo owned > \\"$1\\"" - {0}; timeout 1 cat {0}; true'


@pytest.fixture(autouse=True)
def confined(machine: Machine) -> None:
    if not machine.declared.confines:
        pytest.skip("direct confines nothing")


@contextmanager
def pipe(place: Path) -> Iterator[int]:
    """A named pipe that a program of the host reads and writes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place)
    place.chmod(0o666)
    fd = os.open(place, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)


def heard(fd: int) -> bytes:
    try:
        return os.read(fd, 64)
    except BlockingIOError:
        return b""


def run(machine: Machine, script: str, **how: object) -> bytes:
    """Where an engine cannot cover a pipe, it says so and runs nothing."""
    if machine.engine != "landlock":
        return machine.sandbox(**how).run(script).stdout  # type: ignore[arg-type]
    with pytest.raises(EngineFailed, match="named pipe"):
        machine.sandbox(**how).run(script)  # type: ignore[arg-type]
    return b""


def test_a_pipe_in_a_workspace_that_is_written_directly_leads_nowhere(machine: Machine) -> None:
    with pipe(machine.workspace / "deep/pipe") as fd:
        os.write(fd, b"of the host")
        told = run(machine, SAY.format("deep/pipe"))
        assert (told, heard(fd)) == (b"", b"of the host")
    assert stat.S_ISFIFO((machine.workspace / "deep/pipe").lstat().st_mode)


@pytest.mark.parametrize("writes", ["layer", "memory"])
def test_a_pipe_below_an_overlay_leads_nowhere(machine: Machine, writes: str) -> None:
    if machine.engine == "landlock":
        pytest.skip("landlock has no overlays")
    with pipe(machine.workspace / "pipe") as fd:
        os.write(fd, b"of the host")
        told = run(machine, SAY.format("pipe"), writes=writes)
        assert (told, heard(fd)) == (b"", b"of the host")


def test_a_pipe_in_a_workspace_that_is_only_read_leads_nowhere(machine: Machine) -> None:
    with pipe(machine.workspace / "pipe") as fd:
        os.write(fd, b"of the host")
        told = run(machine, SAY.format("pipe"), writes="read-only")
        assert (told, heard(fd)) == (b"", b"of the host")


@pytest.mark.parametrize("way", ["read", "write"])
def test_pipes_and_sockets_in_another_place_that_was_granted_lead_nowhere(
    machine: Machine, way: str
) -> None:
    place = machine.outside / "in"
    with pipe(place / "pipe") as fd:
        os.write(fd, b"of the host")
        how: dict[str, object] = {"access": Access(**{way: [str(machine.outside)]})}
        (place / "file").write_text("to be read")
        told = run(machine, SAY.format(place / "pipe") + f"; cat {place}/file", **how)
        assert heard(fd) == b"of the host"
        assert told == (b"" if machine.engine == "landlock" else b"to be read")


def test_a_socket_in_a_place_that_is_only_read_leads_nowhere(machine: Machine) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(machine.outside / "s"))
        os.chmod(machine.outside / "s", 0o666)
        listening.listen()
        listening.setblocking(False)
        program = f"import socket; socket.socket(socket.AF_UNIX).connect('{machine.outside}/s')"
        machine.sandbox(access=Access(read=[str(machine.outside)])).run(f'python3 -c "{program}"')
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_a_pipe_where_something_is_mounted_beside_it_leads_nowhere(machine: Machine) -> None:
    """No overlay can be made there, so that each is covered by itself."""
    if not machine.declared.hides_paths:
        pytest.skip("it has no mounts")
    from redoma.jail.protect.covers import covers_where_read

    with pipe(machine.outside / "in/pipe"):
        made = covers_where_read((str(machine.outside),), (str(machine.workspace),), {})
        assert made == ["--ro-bind", "/dev/null", str(machine.outside / "in/pipe")]


def test_a_pipe_that_a_command_makes_itself_works(machine: Machine) -> None:
    script = "mkfifo own; (echo through > own) & cat own; mkfifo $TMPDIR/p 2>/dev/null; rm own"
    assert machine.sandbox().run(script).stdout == b"through\n"


def test_what_covers_a_pipe_is_neither_renamed_nor_removed(machine: Machine) -> None:
    with pipe(machine.workspace / "pipe"):
        run(machine, "mv pipe other; rm -f pipe; ln pipe linked")
        assert sorted(os.listdir(machine.workspace)) == ["pipe"]


def test_a_run_that_begins_later_does_not_reach_what_an_earlier_one_left(machine: Machine) -> None:
    machine.sandbox().run("mkfifo left")
    fd = os.open(machine.workspace / "left", os.O_RDWR | os.O_NONBLOCK)
    try:
        run(machine, SAY.format("left"))
        assert heard(fd) == b""
    finally:
        os.close(fd)


@pytest.mark.root
def test_a_workspace_that_cannot_be_listed_is_refused(machine: Machine) -> None:
    machine.workspace.chmod(0o711)
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        try:
            shield = ProtectedPaths(str(machine.workspace), ())
            shield.survey.look()
            RunProtection(shield, {}, {})
        except EngineFailed:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.root
def test_a_directory_whose_names_can_be_used_and_not_listed_is_covered(machine: Machine) -> None:
    """Seen by an ordinary user in another's directory; root itself lists everything."""
    closed = machine.workspace / "closed"
    with pipe(closed / "pipe"):
        closed.chmod(0o711)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            survey = Survey(str(machine.workspace))
            survey.look()
            os.write(writing, repr(list(survey.endpoints())).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        assert os.read(reading, 4096).decode() == repr([str(closed)])
        os.close(reading)
