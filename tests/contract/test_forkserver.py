"""The launcher that stays: what a run gets of it is fresh, and nothing of it outlives the caller."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redoma import Access
from redoma.jail.forkserver.engine import ForkserverEngine
from redoma.jail.supervisor.host import LATER
from redoma.pipeline.async_sandbox import AsyncSandbox
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.this_host import this_host
from tests.contract.machine import usable
from tests.tidy import remove

pytestmark = pytest.mark.both_users

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def box() -> Iterator[Sandbox]:
    usable("forkserver")
    # Not below /tmp, which is another one inside.
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    (base / "work").mkdir()
    yield Sandbox(str(base / "work"), engine="forkserver", policy="isolation-only")
    remove(base)


def forkserver_pid() -> int:
    engine = this_host().engine("forkserver")
    assert isinstance(engine, ForkserverEngine)
    return engine.forkserver_pid


def out(box: Sandbox, command: str | list[str]) -> str:
    result = box.run(command)
    assert result.exit is not None, result
    assert (result.exit.code, result.exit.stderr) == (0, b""), result.exit
    return result.exit.stdout.decode()


def gone(pid: int) -> bool:
    """Whether a process is no more, or will be in a moment."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def script(text: str, workspace: str) -> list[str]:
    """A program of a caller's own, with a sandbox."""
    head = f"import sys; sys.path.insert(0, {str(SOURCE)!r})\nfrom redoma import Access, Sandbox\n"
    return [sys.executable, "-c", head + textwrap.dedent(text), workspace]


def test_one_run_alone_starts_no_launcher_and_more_of_them_share_one(box: Sandbox) -> None:
    text = """
        import json, os
        from redoma.pipeline.this_host import this_host
        box, found = Sandbox(sys.argv[1]), []
        for _ in range(3):
            ran = box.run(["/bin/true"]).enforcement.engine
            warm = this_host().engines._made.get("forkserver")
            found.append([ran, warm.forkserver_pid if warm else 0])
        print(json.dumps(found))
    """
    done = subprocess.run(
        script(text, box.workspace), capture_output=True, check=True, timeout=60, env=os.environ
    )
    first, second, third = json.loads(done.stdout)
    assert first == ["bubblewrap", 0]
    assert (second[0], second) == ("forkserver", third)
    assert second[1] > 0
    assert gone(second[1])


def test_nothing_of_one_run_is_seen_by_the_next(box: Sandbox) -> None:
    leave = "echo a > /tmp/left; echo b > ~/left; echo c > /dev/shm/left; (sleep 60 &) ; echo $$"
    look = "ls /tmp ~ /dev/shm; set -- /proc/[0-9]*; echo $#; hostname"
    fresh = out(box, look)
    out(box, leave)
    assert out(box, look) == fresh


def test_each_run_has_namespaces_of_its_own(box: Sandbox) -> None:
    names = ("mnt", "pid", "net", "ipc", "uts", "user", "cgroup")
    command = "; ".join(f"readlink /proc/self/ns/{name}" for name in names)
    here = {os.readlink(f"/proc/self/ns/{name}") for name in names}
    both = Sandbox(
        box.workspace, engine="forkserver", access=Access(direct=True), policy="isolation-only"
    )
    # At the same time: the kernel uses the numbers of those that ended again.
    meet = "touch {}; until [ -e {} ] || [ $((i += 1)) -gt 400 ]; do sleep 0.05; done; "
    with ThreadPoolExecutor(2) as pool:
        said = pool.map(lambda n: out(both, meet.format(n, 1 - n) + command), (0, 1))
        first, second = (set(text.split()) for text in said)
    assert (first & second, (first | second) & here) == (set(), set())
    assert (len(first), len(second)) == (len(names), len(names))


def test_the_launcher_has_nothing_of_its_callers(box: Sandbox) -> None:
    out(box, "true")
    place = Path(f"/proc/{forkserver_pid()}")
    names = {line.partition(b"=")[0] for line in (place / "environ").read_bytes().split(b"\0")}
    assert names <= {b"", b"LD_LIBRARY_PATH"}
    kinds = {os.readlink(fd).partition(":")[0] for fd in (place / "fd").iterdir()}
    # In memory is the description of the sandbox that it makes at this moment, if it does.
    assert kinds <= {"/dev/null", "socket", "anon_inode", "/memfd"}
    if os.geteuid() == 0:
        assert place.stat().st_uid != 0


def test_a_killed_launcher_is_replaced_before_the_next_run(box: Sandbox) -> None:
    out(box, "true")
    killed = forkserver_pid()
    os.kill(killed, signal.SIGKILL)
    assert gone(killed)
    results = [box.run("echo still here") for _ in range(2)]
    assert [r.exit.stdout for r in results if r.exit] == [b"still here\n"] * 2
    assert [r.enforcement.engine for r in results if r.enforcement] == ["forkserver"] * 2
    assert forkserver_pid() not in (0, killed)


def test_a_waiting_sandbox_that_was_killed_is_replaced(box: Sandbox) -> None:
    out(box, "true")
    launcher = forkserver_pid()
    for pid in _waiting_for(launcher):
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
    assert (out(box, "echo still here"), forkserver_pid()) == ("still here\n", launcher)


def test_a_waiting_process_of_a_call_that_was_killed_is_replaced(box: Sandbox) -> None:
    for _ in range(2):
        box.call(len, "x")
    launcher = forkserver_pid()
    until = time.monotonic() + 20
    made: list[int] = []
    while not made and time.monotonic() < until:
        made = [int(c) for pid in _waiting_for(launcher) for c in _children(pid).split()]
    assert made
    for pid in made:
        os.kill(pid, signal.SIGKILL)
        while not _over(pid):
            time.sleep(0.01)
    assert (box.call(len, "still here"), forkserver_pid()) == (10, launcher)


def _over(pid: int) -> bool:
    """Whether nothing is left of a process but what its parent may collect."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _children(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return ""


def _waiting_for(launcher: int) -> list[int]:
    """The sandboxes that stand ready, when there are any."""
    own, line = Path("/proc/self/task"), _command_line(launcher)
    until = time.monotonic() + 20
    waiting: list[int] = []
    while not waiting and time.monotonic() < until:
        children = {int(c) for task in own.glob("*/children") for c in task.read_text().split()}
        waiting = [c for c in children - {launcher} if _command_line(c) == line]
    assert 1 <= len(waiting) <= 3
    return waiting


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_launcher_that_cannot_be_started_is_an_error_and_then_bubblewrap_runs(
    box: Sandbox,
) -> None:
    text = """
        from redoma import EngineFailed
        from redoma.pipeline.this_host import this_host
        box = Sandbox(sys.argv[1])
        engines = [box.run(["/bin/true"]).enforcement.engine for _ in range(2)]
        warm = this_host().engine("forkserver")
        warm.close()
        warm.binary = "/nonexistent/python"
        try:
            box.run(["/bin/touch", "begun"])
        except EngineFailed as error:
            print(error)
        print(*engines, box.run(["/bin/ls"]).enforcement.engine)
    """
    done = subprocess.run(
        script(text, box.workspace), capture_output=True, text=True, check=True, timeout=60
    )
    said = done.stdout.splitlines()
    assert said[0].endswith("No such file or directory"), said
    assert said[1:] == ["bubblewrap forkserver bubblewrap"]
    assert os.listdir(box.workspace) == []


def test_a_killed_caller_takes_the_launcher_and_every_run_with_it(box: Sandbox) -> None:
    text = """
        import glob, os, threading, time
        from redoma.pipeline.this_host import this_host
        box = Sandbox(sys.argv[1], engine="forkserver", access=Access(direct=True))
        box.run("true")
        # A child of the caller's keeps a copy of everything that it has open.
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        threading.Thread(target=lambda: box.run("touch begun; sleep 61.5"), daemon=True).start()
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        while not os.path.exists(sys.argv[1] + "/begun"):
            time.sleep(0.05)
        tasks = glob.glob("/proc/self/task/*/children")
        print(*(pid for task in tasks for pid in open(task).read().split()), flush=True)
        time.sleep(60)
    """
    with subprocess.Popen(
        script(text, box.workspace), stdout=subprocess.PIPE, text=True, env=os.environ
    ) as caller:
        assert caller.stdout is not None
        pids = [int(pid) for pid in caller.stdout.readline().split()]
        forks = [pid for pid in pids if b"sys.argv[1]" in _line(pid)]
        ours = sorted(set(pids) - set(forks))
        try:
            assert len(ours) >= 2, (pids, [_line(pid) for pid in pids])
            caller.kill()
            assert [pid for pid in ours if not gone(pid)] == []
        finally:
            for pid in forks:
                os.kill(pid, signal.SIGKILL)


def _line(pid: int) -> bytes:
    return (
        Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"-c\0import sys; sys.path.insert")[2]
    )


def test_a_forked_child_has_a_launcher_of_its_own(box: Sandbox) -> None:
    text = """
        import os
        from redoma.pipeline.this_host import this_host
        box = Sandbox(sys.argv[1], engine="forkserver")
        def told():
            said = box.run("echo ran").exit.stdout.decode().strip()
            print(said, this_host().engine("forkserver").forkserver_pid, flush=True)
        told()
        child = os.fork()
        if child == 0:
            told()
            this_host().close()
            os._exit(0)
        os.waitpid(child, 0)
        told()
    """
    done = subprocess.run(
        script(text, box.workspace), capture_output=True, text=True, check=True, timeout=60
    )
    said = [line.split() for line in done.stdout.splitlines()]
    assert [word for word, _ in said] == ["ran"] * 3
    mine, forked, again = (int(pid) for _, pid in said)
    assert (mine == again, mine == forked) == (True, False)
    assert gone(mine) and gone(forked)


def test_many_threads_get_each_their_own_run(box: Sandbox) -> None:
    with ThreadPoolExecutor(16) as pool:
        said = list(pool.map(lambda n: out(box, ["/bin/echo", str(n)]), range(50)))
    assert said == [f"{n}\n" for n in range(50)]


def test_many_tasks_get_each_their_own_run(box: Sandbox) -> None:
    async def all_of_them() -> list[bytes]:
        several = AsyncSandbox(box.workspace, engine="forkserver", policy="isolation-only")
        results = await asyncio.gather(*(several.run(["/bin/echo", str(n)]) for n in range(12)))
        return [result.exit.stdout for result in results if result.exit is not None]

    assert asyncio.run(all_of_them()) == [b"%d\n" % n for n in range(12)]


def test_runs_leave_no_process_and_no_descriptor(box: Sandbox) -> None:
    def traces() -> tuple[int, int]:
        children = [c.read_text().split() for c in Path("/proc/self/task").glob("*/children")]
        return sum(map(len, children)), len(os.listdir("/proc/self/fd"))

    def less(some: tuple[int, int], others: tuple[int, int]) -> bool:
        return some[0] <= others[0] and some[1] <= others[1]

    out(box, "true")
    time.sleep(2 * LATER)
    before = traces()
    for _ in range(20):
        box.run("sleep 60 & true")
    time.sleep(2 * LATER)
    out(box, "true")
    until = time.monotonic() + 20
    # Of a kind that is asked for quickly two stand ready, until it is not: so there may be one less
    # than before. Layers' mounts are let go a little later.
    while not less(traces(), before) and time.monotonic() < until:
        time.sleep(0.1)
    assert less(traces(), before), (before, traces())


def test_a_workspace_that_was_replaced_is_the_new_one(box: Sandbox) -> None:
    workspace = Path(box.workspace)
    direct = Sandbox(
        str(workspace), engine="forkserver", access=Access(direct=True), policy="isolation-only"
    )
    (workspace / "old").write_text("")
    assert out(direct, "ls") == "old\n"
    workspace.rename(workspace.with_name("moved"))
    workspace.mkdir()
    (workspace / "new").write_text("")
    assert [out(direct, "ls"), out(box, "ls")] == ["new\n", "new\n"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts something on the machine")
def test_what_was_mounted_since_the_last_run_is_seen(box: Sandbox) -> None:
    text = """
        import subprocess
        box = Sandbox(sys.argv[1], engine="forkserver", access=Access(direct=True))
        print(box.run("ls").exit.stdout)
        subprocess.run(["mount", "-t", "tmpfs", "none", sys.argv[1]], check=True)
        open(f"{sys.argv[1]}/above", "w").close()
        print(box.run("ls").exit.stdout)
        subprocess.run(["umount", sys.argv[1]], check=True)
        print(box.run("ls").exit.stdout)
    """
    (Path(box.workspace) / "below").write_text("")
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", *script(text, box.workspace)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["b'below\\n'", "b'above\\n'", "b'below\\n'"]


def test_the_callers_umask_of_now_is_the_commands(box: Sandbox) -> None:
    before = os.umask(0o077)
    try:
        closed = out(box, "umask")
        os.umask(0o002)
        assert (closed, out(box, "umask")) == ("0077\n", "0002\n")
    finally:
        os.umask(before)


def test_a_long_command_and_many_variables_arrive_whole(box: Sandbox) -> None:
    text = "x" * 120_000
    assert out(box, ["/bin/echo", text]) == f"{text}\n"
    env = {f"V{n}": "v" * 1000 for n in range(300)}
    several = Sandbox(
        box.workspace, engine="forkserver", access=Access(env=env), policy="isolation-only"
    )
    assert out(several, "env | grep -c ^V") == "300\n"


def test_a_python_call_goes_on_in_the_interpreter_that_stays(box: Sandbox) -> None:
    box.call(len, "abc")
    before = forkserver_pid()
    assert (box.call(len, "abc"), forkserver_pid()) == (3, before)
    # Its command line is the launcher's: no program was started for it.
    line = box.call(_own_command_line)
    assert line == Path(f"/proc/{before}/cmdline").read_bytes()


def _own_command_line() -> bytes:
    with open("/proc/self/cmdline", "rb") as file:
        return file.read()
