"""What does a sandbox cost? `/bin/true` bare, under bubblewrap as agents use it, and under us.

    python bench/launch.py [--rounds N] [--loop N]

All are interleaved in one run, since a busy machine changes from second to second: read the ratios.
Ends with a loop of runs, and what it left behind.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from redoma import Sandbox  # noqa: E402
from redoma.jail.engines.bubblewrap import candidates  # noqa: E402
from redoma.pipeline.this_host import this_host  # noqa: E402

# What our launcher, and whatever it forked, is seen by in the list of processes.
LAUNCHER = "redoma.jail.forkserver.server"
QUIET = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]


def start(argv: list[str], env: dict[str, str]) -> None:
    """Starts a program, waits for it, and insists that it succeeded."""
    pid = os.posix_spawn(argv[0], argv, env, file_actions=QUIET)
    assert os.waitpid(pid, 0)[1] == 0, argv


def usual(workspace: str) -> list[str]:
    """Bubblewrap in the profile that agents usually give it."""
    words = "--unshare-all --die-with-parent --new-session --ro-bind / / --dev /dev --proc /proc"
    return [
        candidates()[0],
        *words.split(),
        *("--tmpfs", "/tmp", "--bind", workspace, workspace, "--chdir", workspace, "--"),
        "/bin/true",
    ]


def cold(workspace: str) -> list[str]:
    """`redoma run` as bin/redoma starts it, without the shell script around it."""
    own = str(ROOT / "src/redoma/__main__.py")
    python = [sys.executable, "-I", "-S", "-X", "utf8", own]
    return [*python, "run", "-q", "--workspace", workspace, "--", "/bin/true"]


def measured(
    ways: dict[str, Callable[[], None]], rounds: int, *, uncounted: int = 2
) -> dict[str, list[float]]:
    """Milliseconds of each way, in turns, after so many times that do not count."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        for _ in range(uncounted):
            way()
    for turn in range(rounds):
        names = list(ways)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            began = time.perf_counter()
            ways[name]()
            times[name].append((time.perf_counter() - began) * 1000)
    return times


def traces(workspace: str) -> dict[str, int]:
    """What a run could leave behind, counted."""
    runs = Path("~/.local/state/redoma/runs").expanduser()
    own = f"redoma-{os.getpid()}-"
    groups = [place for place, _, _ in os.walk("/sys/fs/cgroup") if f"/{own}" in place]
    listed = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True)
    processes = [line.split(None, 1) for line in listed.stdout.splitlines()]
    return {
        "processes": sum("bwrap --args" in line for _, line in processes),
        "launchers": sum(LAUNCHER in line and int(p) == os.getpid() for p, line in processes[1:]),
        "mounts": len(Path("/proc/self/mounts").read_text().splitlines()),
        "groups": len(groups),
        "files": len(os.listdir(workspace)) + len(os.listdir(tempfile.gettempdir())),
        "entries": len(list(runs.glob("*"))) if runs.exists() else 0,
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def at_rest(sandbox: Sandbox) -> None:
    """As after any run that was not followed by another at once: one sandbox stands ready."""
    time.sleep(0.2)
    sandbox.run(["/bin/true"])
    time.sleep(0.2)


def main() -> None:
    """Measures, prints, and fails if a run left something behind."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=60)
    options.add_argument("--loop", type=int, default=200)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="launch-", dir=Path.home()) as workspace:
        sandbox = Sandbox(workspace)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
        ways: dict[str, Callable[[], None]] = {
            "bare": lambda: start(["/bin/true"], env),
            "bwrap, usual profile": lambda: start(usual(workspace), env),
            "Sandbox.run, warm": lambda: sandbox.run(["/bin/true"]).raise_for_outcome() and None,
            "redoma run, cold": lambda: start(cold(workspace), env),
        }
        times = measured(ways, given.rounds)
        base = statistics.median(times["bwrap, usual profile"])
        print(
            f"{'/bin/true, uid ' + str(os.geteuid()):<24}{'median ms':>10}{'best ms':>10}{'× bwrap':>10}"
        )
        for name, found in times.items():
            middle = statistics.median(found)
            print(f"{name:<24}{middle:>10.2f}{min(found):>10.2f}{middle / base:>10.2f}")
        at_rest(sandbox)
        before = traces(workspace)
        began = time.perf_counter()
        for _ in range(given.loop):
            sandbox.run("sleep 60 & true")
        took = time.perf_counter() - began
        at_rest(sandbox)
        # Mounts of layers are let go a little later, many at once: it makes the kernel sync the disk.
        until = time.monotonic() + 5
        while (after := traces(workspace)) != before and time.monotonic() < until:
            time.sleep(0.2)
        print(f"\n{given.loop} runs in a row: {given.loop / took:.0f} a second")
        this_host().close()
        gone = traces(workspace)
        left = {name: after[name] - before[name] for name in before if after[name] > before[name]}
        print(
            f"left behind: {left or 'nothing'}; after closing: "
            f"{gone['groups']} groups, {gone['entries']} entries, {gone['launchers']} launchers"
        )
        sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
