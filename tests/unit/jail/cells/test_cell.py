"""A cell keeps what runs in it, and with its end nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redoma import Cell, CellError, CellProcess, Limits, Outcome, UsageError
from redoma.jail.cells import numbers
from redoma.model.cell import NoSuchUser
from tests.house.tree import ROOT

pytestmark = pytest.mark.both_users
SOON = 30.0


def until(true: Callable[[], bool]) -> bool:
    """Whether something becomes true within a generous time."""
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return true()


def marked(marker: str) -> list[int]:
    """The processes of this machine whose command line has a marker, whoever's they are."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and marker in Path(f"/proc/{name}/cmdline").read_text("utf-8"):
                found.append(int(name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


@pytest.fixture(scope="module")
def shared() -> Iterator[Cell]:
    with Cell() as cell:
        yield cell


def sh(cell: Cell, script: str, **how: object) -> str:
    found = cell.exec(["sh", "-c", script], **how)  # type: ignore[arg-type]
    return (found.stdout + found.stderr).decode()


def test_a_command_has_its_words_its_input_its_directory_and_its_variables(shared: Cell) -> None:
    shared.exec(["mkdir", "-p", "sub"])
    found = shared.exec(
        ["sh", "-c", 'cat; pwd; echo "$A|$1"; echo oh >&2; exit 7', "sh", "two words;$(x)"],
        input=b"given\n",
        cwd="sub",
        env={"A": "b c"},
    )
    assert (found.exit_code, found.outcome, found.ok) == (7, Outcome.EXITED, False)
    assert found.stdout == b"given\n/workspace/sub\nb c|two words;$(x)\n"
    assert found.stderr == b"oh\n"
    assert found.ok is False and shared.exec(["true"]).ok is True


def test_what_one_command_writes_the_next_one_finds(shared: Cell) -> None:
    shared.exec(["sh", "-c", "echo kept > kept; echo also > /tmp/also"])
    assert sh(shared, "cat kept /tmp/also") == "kept\nalso\n"
    assert shared.read("kept") == b"kept\n"
    shared.write("deep/er/file", b"\x00\xff" * 100_000)
    assert shared.read("deep/er/file") == b"\x00\xff" * 100_000
    assert sh(shared, "stat -c '%U %a' deep/er/file") == "redoma 644\n"


def test_a_file_that_cannot_be_read_or_written_says_why(shared: Cell) -> None:
    shared.exec(["sh", "-c", "mkfifo pipe; mkdir dir; echo x > locked; chmod 0 locked"])
    for path, error in (
        ("nothing/here", FileNotFoundError),
        ("dir", IsADirectoryError),
        ("locked", PermissionError),
        ("/dev/zero", OSError),
        ("pipe", OSError),
    ):
        with pytest.raises(error):
            shared.read(path)
    for path, error in (("dir", IsADirectoryError), ("locked", PermissionError)):
        with pytest.raises(error):
            shared.write(path, b"x")
    with pytest.raises(PermissionError):
        shared.write("/etc/passwd", b"x")
    shared.write("long", b"x" * 2000)
    with pytest.raises(OSError, match="large"):
        shared.read("long", limit=1000)


@pytest.mark.parametrize(
    ("argv", "error"),
    [(["no-such-program"], FileNotFoundError), (["/etc/passwd"], PermissionError)],
)
def test_a_program_that_cannot_be_run_is_an_error_of_its_own(
    shared: Cell, argv: list[str], error: type[OSError]
) -> None:
    with pytest.raises(error):
        shared.exec(argv)
    with pytest.raises(FileNotFoundError):
        shared.exec(["true"], cwd="/nowhere")
    for wrong in ([], ["a\0b"]):
        with pytest.raises(UsageError):
            shared.exec(wrong)


def test_what_is_past_its_time_ends_with_everything_that_it_started(shared: Cell) -> None:
    # Attack: it leaves its session and its parent, twice, and ignores every signal it may.
    script = (
        "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM; sleep 987651' &) ;"
        " setsid sh -c '(sleep 987652 &) ; sleep 987653' & sleep 987654"
    )
    found = shared.exec(["sh", "-c", script], timeout=1.0)
    assert (found.exit_code, found.outcome) == (None, Outcome.TIMED_OUT)
    assert until(lambda: not marked("98765"))


def test_output_past_its_limit_ends_the_command(shared: Cell) -> None:
    found = shared.exec(["sh", "-c", "yes & yes >&2"], output_limit=1 << 16)
    assert found.outcome is Outcome.OUTPUT_TOO_LARGE
    assert max(len(found.stdout), len(found.stderr)) == 1 << 16
    # A command that has ended by itself was still too loud.
    found = shared.exec(["sh", "-c", "head -c 3000 /dev/zero"], output_limit=1000)
    assert (found.outcome, len(found.stdout)) == (Outcome.OUTPUT_TOO_LARGE, 1000)


def test_what_runs_in_the_background_lives_until_the_cell_ends() -> None:
    with Cell() as cell:
        began = time.monotonic()
        found = cell.exec(["sh", "-c", "sleep 876541 & echo begun"])
        assert found.stdout == b"begun\n"
        assert time.monotonic() - began < SOON
        assert until(lambda: len(marked("876541")) == 1)
        assert "876541" in sh(cell, "ps ax")
    assert marked("876541") == []


def test_the_end_of_a_cell_leaves_nothing() -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    mounts = Path("/proc/self/mountinfo").read_text("utf-8")
    for _ in range(3):
        with Cell() as cell:
            pid = cell.pid
            cell.write("f", b"x")
            cell.exec(["sh", "-c", "sleep 765431 & (setsid sleep 765432 &)"])
        assert not os.path.exists(f"/proc/{pid}")
        cell.close()
    assert marked("76543") == []
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 1
    assert Path("/proc/self/mountinfo").read_text("utf-8") == mounts
    with pytest.raises(CellError):
        cell.exec(["true"])


def test_a_cell_ends_with_whoever_made_it() -> None:
    code = (
        "import redoma, sys, os, signal; cell = redoma.Cell();"
        "cell.exec(['sh', '-c', 'sleep 654321 &']); print(cell.pid, flush=True);"
        "os.fork() or signal.pause(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    maker = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert maker.stdout is not None
    pid = int(maker.stdout.readline())
    maker.wait(SOON)
    maker.stdout.close()
    # Attack: a fork of the maker lives on and holds the other end of every socket.
    try:
        assert until(lambda: not os.path.exists(f"/proc/{pid}"))
        assert marked("sleep\0654321") == []
    finally:
        for left in marked("signal.pause"):
            os.kill(left, signal.SIGKILL)


def test_root_of_a_cell_is_nobody_on_the_machine(shared: Cell) -> None:
    if not shared.can_have_users:
        pytest.skip("no range of users for this user")
    assert sh(shared, "id -u; id -un", user="root") == "0\nroot\n"
    process = shared.start(["sleep", "543211"], user="root")
    try:
        assert until(lambda: len(marked("543211")) == 1)
        status = Path(f"/proc/{marked('543211')[0]}/status").read_text("utf-8")
        uid = int(status.partition("\nUid:")[2].split()[0])
        assert uid not in (0, os.geteuid())
    finally:
        process.close()
    assert until(lambda: not marked("543211"))
    assert "denied" in sh(shared, "mount -t tmpfs none /mnt 2>&1 || echo denied", user="root")
    assert "denied" in sh(shared, "unshare -U true 2>&1 || echo denied", user="root")
    assert "denied" in sh(
        shared, "echo x > /proc/sys/kernel/core_pattern || echo denied", user="root"
    )
    assert "denied" in sh(shared, "touch /usr/bin/made || echo denied", user="root")


def test_the_users_of_a_cell_are_apart(shared: Cell) -> None:
    if not shared.can_have_users:
        pytest.skip("no range of users for this user")
    shared.write("/root/secret", b"of root", user="root")
    shared.exec(["chmod", "600", "/root/secret"], user="root")
    with pytest.raises(PermissionError):
        shared.read("/root/secret")
    assert shared.read("/root/secret", user="root") == b"of root"
    assert sh(shared, "id -u", user="4321") == "4321\n"
    with pytest.raises(NoSuchUser):
        shared.exec(["true"], user="nobody-of-that-name")


def test_nothing_of_the_machine_is_there_that_is_not_for_everybody(
    shared: Cell, tmp_path: Path
) -> None:
    secret = Path(os.environ.get("HOME", "/nonexistent"))
    for path in (ROOT, tmp_path, secret / ".ssh", Path("/etc/ssh"), Path("/var/lib/dpkg")):
        user = "root" if shared.can_have_users else ""
        found = sh(shared, f"ls -A {path} 2>/dev/null | head -3", user=user)
        assert found == "", path
    if os.geteuid() == 0:
        ours = Path("/etc/shadow").read_text("utf-8").splitlines()[0]
        assert ours.split(":")[2] not in sh(shared, "cat /etc/shadow", user="root")


def test_no_network_is_reached(shared: Cell) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        found = shared.exec(["python3", "-c", code])
        assert b"refused" in found.stderr
    assert sh(shared, "ls /sys/class/net 2>/dev/null; cat /proc/net/dev").count(":") == 1


def test_a_directory_is_shown_to_be_read_and_not_written(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "file").write_text("told")
    given.chmod(0o755)
    with Cell(readable=[str(given)]) as cell:
        assert sh(cell, f"cat {given}/file") == "told"
        user = "root" if cell.can_have_users else ""
        assert "denied" in sh(cell, f"echo x > {given}/file || echo denied", user=user)
    assert (given / "file").read_text() == "told"
    with pytest.raises(UsageError):
        Cell(readable=[str(tmp_path / "nothing")])


def test_the_limits_hold_for_the_cell_as_a_whole() -> None:
    limits = Limits(memory=256 << 20, processes=40, temporary=8 << 20)
    with Cell(limits=limits) as cell:
        found = sh(cell, "head -c 20000000 /dev/zero > big 2>/dev/null; stat -c %s big")
        assert int(found) <= 8 << 20
        names = dict(cell.mechanisms)
        assert {"memory", "processes", "temporary"} <= set(names)
        sh(cell, "rm big; for i in $(seq 100); do sleep 432101 & done 2>/dev/null; true")
        assert len(marked("432101")) <= 40
        begun: list[CellProcess] = []
        try:
            with pytest.raises(BlockingIOError):
                for _ in range(60):
                    begun.append(cell.start(["sleep", "432102"]))
        finally:
            for each in begun:
                each.close()
        # It is no end of the cell that it had no room for one more.
        assert cell.running
        assert until(lambda: not marked("432102"))
    assert until(lambda: not marked("43210"))


def test_two_cells_and_many_commands_at_once_do_not_mix() -> None:
    found: dict[str, bytes] = {}

    def one(cell: Cell, name: str) -> None:
        found[name] = cell.exec(["sh", "-c", f"echo {name} > own; sleep 0.2; cat own"]).stdout

    with Cell() as first, Cell() as second:
        jobs = [
            threading.Thread(target=one, args=(cell, f"{number}"))
            for number, cell in enumerate((first, second))
        ]
        for each in jobs:
            each.start()
        for each in jobs:
            each.join(SOON)
        assert found == {"0": b"0\n", "1": b"1\n"}

        def echo(number: int) -> None:
            found[f"n{number}"] = first.exec(["echo", f"{number}"]).stdout

        jobs = [threading.Thread(target=echo, args=(number,)) for number in range(30)]
        for each in jobs:
            each.start()
        for each in jobs:
            each.join(SOON)
        assert [found[f"n{n}"] for n in range(30)] == [b"%d\n" % n for n in range(30)]


def test_a_command_that_ends_what_watches_it_ends_the_cell() -> None:
    with Cell() as cell:
        if not cell.can_have_users:
            pytest.skip("no range of users for this user")
        # Attack: root of the cell kills its parent, so that nobody ends it when its time is over.
        with pytest.raises(CellError):
            cell.exec(["sh", "-c", "sleep 321098 & kill -9 $PPID; sleep 321099"], user="root")
        assert not cell.running
    assert until(lambda: not marked("32109"))


def test_a_cell_without_a_range_of_users_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        pytest.skip("root has a range of users everywhere")
    monkeypatch.setattr(numbers, "_PROGRAMS", ("/nonexistent", "/nonexistent"))
    with Cell() as cell:
        assert not cell.can_have_users
        assert sh(cell, "id -un; touch f; stat -c %U f") == "redoma\nredoma\n"
        with pytest.raises(NoSuchUser) as told:
            cell.exec(["true"], user="root")
        assert not told.value.possible
