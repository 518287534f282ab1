"""A real systemd as the first process of namespaces of its own, for machines without one.

Needs root and control groups of version 1, each hierarchy of which gets a group of its own for it;
where systemd is the machine's init anyway, the suite runs on that one and this is not needed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

SYSTEMD = next(
    (path for path in ("/lib/systemd/systemd", "/usr/lib/systemd/systemd") if os.path.exists(path)),
    "",
)
_GROUPS = Path("/sys/fs/cgroup")
_CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids")
_PATIENCE = 30

_ENTER = r"""
for c in $HIERARCHIES; do echo $$ > /sys/fs/cgroup/$c/$GROUP/cgroup.procs; done
exec unshare --fork --pid --mount --uts --ipc --cgroup --propagation private --mount-proc \
    --kill-child /bin/sh -c "$INIT"
"""
_INIT = r"""
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/systemd
umount -R /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
cd /sys/fs/cgroup
for c in $HIERARCHIES; do
    mkdir $c
    case $c in
        systemd) mount -t cgroup -o none,name=systemd cgroup systemd ;;
        unified) mount -t cgroup2 cgroup2 unified ;;
        *) mount -t cgroup -o $c cgroup $c ;;
    esac
done
cd /
export container=test SYSTEMD_LOG_TARGET=console SYSTEMD_IGNORE_CHROOT=1
exec "$SYSTEMD" --system --unit=small.target --log-target=console --show-status=no \
    --service-watchdogs=no </dev/null
"""
_TARGET = "[Unit]\nDescription=nothing else\nDefaultDependencies=no\nAllowIsolate=yes\n"


def why_not() -> str:
    """Why none can be started here, or nothing."""
    for tool in ("unshare", "nsenter", "systemctl", "systemd-run"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    if not SYSTEMD:
        return "systemd is not installed"
    if not (_GROUPS / "memory" / "cgroup.procs").exists():
        return "needs control groups of version 1"
    return ""


class RealSystemd:
    """A running one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def run(
        self, argv: Sequence[str], *, env: dict[str, str], cwd: Path, timeout: float = 600
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program where this systemd is the first process."""
        inside = ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-p", "-C", f"--wd={cwd}", "--"]
        return subprocess.run(
            [*inside, *argv], env=env, timeout=timeout, capture_output=True, text=True, check=False
        )

    def ready(self) -> bool:
        """Whether it has done what it does at a start."""
        asked = ["systemctl", "is-system-running"]
        return self.run(asked, env=dict(os.environ), cwd=Path("/")).stdout.strip() == "running"


@contextmanager
def started() -> Iterator[RealSystemd]:
    """One that runs as long as the block lasts, and leaves nothing behind."""
    group = f"redoma-test-{os.getpid()}"
    hierarchies = [c for c in (*_CONTROLLERS, "systemd", "unified") if (_GROUPS / c).is_dir()]
    units = Path(tempfile.mkdtemp(prefix="rdm-units-"))
    (units / "small.target").write_text(_TARGET)
    launcher: subprocess.Popen[bytes] | None = None
    try:
        for name in hierarchies:
            (_GROUPS / name / group).mkdir()
            if name == "cpuset":
                for file in ("cpuset.cpus", "cpuset.mems"):
                    (_GROUPS / name / group / file).write_text((_GROUPS / name / file).read_text())
        launcher = subprocess.Popen(
            ["/bin/sh", "-c", _ENTER],
            env={
                "PATH": os.environ["PATH"],
                "HIERARCHIES": " ".join(hierarchies),
                "GROUP": group,
                "INIT": _INIT,
                "SYSTEMD": SYSTEMD,
                "SYSTEMD_UNIT_PATH": str(units),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        yield _wait_for(launcher)
    finally:
        if launcher is not None:
            launcher.send_signal(signal.SIGKILL)
            launcher.wait()
        for name in hierarchies:
            _remove(_GROUPS / name / group)
        shutil.rmtree(units)


def _wait_for(launcher: subprocess.Popen[bytes]) -> RealSystemd:
    until = time.monotonic() + _PATIENCE
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    while time.monotonic() < until and launcher.poll() is None:
        with suppress(OSError):
            below = children.read_text().split()
            if below and RealSystemd(int(below[0])).ready():
                return RealSystemd(int(below[0]))
        time.sleep(0.05)
    raise RuntimeError("systemd did not come up")


def _remove(group: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while group.exists() and time.monotonic() < until:
        for place, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                os.rmdir(place)
        time.sleep(0.02)
