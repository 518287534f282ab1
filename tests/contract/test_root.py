"""One root, whoever builds it: what a command sees from inside is the same under every engine."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redoma import Access
from redoma.jail.engines import prepared_sandbox
from redoma.jail.engines.registry import DECLARED
from redoma.pipeline.sandbox import Sandbox
from tests.contract.machine import usable
from tests.tidy import remove

pytestmark = pytest.mark.both_users

BUILDERS = tuple(each.name for each in DECLARED if each.hides_paths)
WRITES = ("direct", "layer", "memory", "read-only")
PROFILE = """
level: root
workspace: {writes}
home: toolchains
network: closed
syscalls: usual
limits:
  processes: 128
  open_files: 256
  temporary: 32M
  wall_seconds: 60
"""

# Runs inside and tells what it sees; nothing but the standard library.
LOOK = r"""
import json, os, resource, stat

def entry(path):
    try:
        status = os.lstat(path)
    except OSError as error:
        return f"errno {error.errno}"
    kind = stat.filemode(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return f"{kind} {os.readlink(path)}"
    if stat.S_ISCHR(status.st_mode):
        return f"{kind} {os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    return kind

def entries(place):
    try:
        return {name: entry(f"{place}/{name}") for name in sorted(os.listdir(place))}
    except OSError:
        return {}

def opened(path, flags):
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK))
        return True
    except OSError:
        return False

def mounts():
    found = {}
    for line in open("/proc/self/mountinfo"):
        words = line.split()
        cut = words.index("-")
        found[words[4]] = [words[cut + 1], sorted(words[5].split(",")), words[6:cut]]
    return found

def reached(process):
    found = []
    for place, directories, names in os.walk(process):
        for name in names + directories:
            path = f"{place}/{name}"
            if opened(path, os.O_RDONLY) or opened(path, os.O_WRONLY):
                found.append(path)
    return sorted(found)

status = dict(line.split(":", 1) for line in open("/proc/self/status"))
home = os.environ["HOME"]
kinds = [name for name in dir(resource) if name.startswith("RLIMIT_")]
print(json.dumps({
    "mounts": mounts(),
    "first": reached("/proc/1"),
    "status": {name: value.split() for name, value in status.items() if name in
        "CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters Uid Gid Groups "
        "Umask SigBlk SigIgn".split()},
    "maps": [open(f"/proc/self/{n}").read().split() for n in ("uid_map", "gid_map", "setgroups")],
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in kinds},
    "cgroup": [line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup")],
    "host": [os.uname().nodename, open("/proc/sys/kernel/domainname").read()],
    "env": dict(os.environ),
    "top": entries("/"), "root": entry("/"), "dev": entries("/dev"), "pts": entries("/dev/pts"),
    "run": entries("/run"), "sys": entries("/sys"), "var": entries("/var"), "home": entries(home),
    "tmp": [entry("/tmp"), entry("/dev/shm"), entry(home), entry(os.getcwd())],
    "proc": {name: opened(f"/proc/{name}", os.O_WRONLY) for name in
        "sys/kernel/core_pattern sys/user/max_user_namespaces sysrq-trigger irq/default_smp_affinity "
        "bus/pci/devices kcore kmsg".split()},
    "secrets": {name: opened(f"/proc/{name}", os.O_RDONLY) for name in "kcore kmsg kpagecount".split()},
    "user_namespaces": open("/proc/sys/user/max_user_namespaces").read(),
    "session": [os.getsid(0) == os.getpid(), os.getpriority(0, 0), os.sched_getscheduler(0)],
    "fds": sorted(os.listdir("/proc/self/fd")),
    "ns": sorted(os.listdir("/proc/self/ns")),
    "own": sorted({entry(f"/proc/{pid}")[:1] for pid in os.listdir("/proc") if pid.isdigit()}),
}))
"""

Seen = dict[str, Any]


@pytest.fixture(scope="module")
def place(a_caller: None) -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    base.chmod(0o755)
    work = base / "work"
    (work / ".git/hooks").mkdir(parents=True)
    for name in ("objects", "refs"):
        (work / ".git" / name).mkdir()
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / "look.py").write_text(LOOK)
    os.mkfifo(work / "pipe")
    (base / "read").mkdir()
    tools = Path(os.environ["HOME"]) / ".cargo/bin"
    tools.mkdir(parents=True)
    for writes in WRITES:
        (base / f"{writes}.yaml").write_text(PROFILE.format(writes=writes))
    yield base
    remove(base)


_seen: dict[tuple[str, str], Seen] = {}


def look(place: Path, engine: str, writes: str) -> Seen:
    """What is seen from inside, looked at once."""
    usable(engine)
    if (engine, writes) not in _seen:
        sandbox = Sandbox(
            str(place / "work"),
            level=str(place / f"{writes}.yaml"),
            engine=engine,
            access=Access(read=[str(place / "read")]),
            policy="isolation-only",
        )
        result = sandbox.run("PATH=/usr/local/bin:/usr/bin:/bin python3 look.py")
        assert result.exit_code == 0, result.stderr
        _seen[engine, writes] = json.loads(result.stdout)
    return _seen[engine, writes]


def comparable(seen: Seen) -> Seen:
    """Without what an engine may do in a way of its own."""
    told = dict(seen)
    # Flags are compared with the description; that the same places are mounted is compared here.
    told["mounts"] = {
        at: kind
        for at, (kind, _, _) in seen["mounts"].items()
        if at != prepared_sandbox.FIRST_PROCESS
    }
    # The numbers in the middle are those of the namespace around this one.
    told["maps"] = [seen["maps"][0][::2], seen["maps"][1][::2], seen["maps"][2]]
    return told


@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize("engine", BUILDERS[1:])
def test_the_same_is_seen_as_under_bubblewrap(place: Path, engine: str, writes: str) -> None:
    ours = comparable(look(place, engine, writes))
    theirs = comparable(look(place, BUILDERS[0], writes))
    assert {key: (ours[key], theirs[key]) for key in ours if ours[key] != theirs[key]} == {}


@pytest.fixture(params=[(e, w) for e in BUILDERS for w in WRITES], ids="-".join)
def seen(request: pytest.FixtureRequest, place: Path) -> Seen:
    engine, writes = request.param
    return {**look(place, engine, writes), "engine": engine, "writes": writes}


def test_every_mount_has_the_flags_of_the_description(seen: Seen, place: Path) -> None:
    lacking = {}
    for at, (kind, flags, _) in seen["mounts"].items():
        needed = set(prepared_sandbox.FLAGS.get(kind, prepared_sandbox.ALWAYS))
        if (
            at.startswith("/dev/") and os.path.basename(at) in prepared_sandbox.DEVICES
        ) or kind == "devtmpfs":
            needed = set(prepared_sandbox.OF_DEVICES)
        if at == "/proc/sys":
            needed = set(prepared_sandbox.ALWAYS)
        if at == str(place / "work") and kind == "overlay" and seen["engine"] == "bubblewrap":
            continue  # held otherwise, see the description and `test_a_device_…`
        if needed - set(flags):
            lacking[at] = sorted(needed - set(flags))
    assert lacking == {}


def test_only_what_is_to_be_written_can_be_written(seen: Seen, place: Path) -> None:
    home, work = os.environ["HOME"], str(place / "work")
    # A device's own mount is no place to write; the terminals' is.
    writable = {"/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/proc", home, work, f"{work}/.git"}
    writable |= {f"/dev/{name}" for name in prepared_sandbox.DEVICES}
    found = {at for at, (_, flags, _) in seen["mounts"].items() if "rw" in flags}
    assert found - writable == set()
    if seen["writes"] == "read-only":
        assert work not in found


def test_nothing_that_is_mounted_outside_comes_in(seen: Seen) -> None:
    assert [
        at for at, (_, _, shared) in seen["mounts"].items() if any("shared" in s for s in shared)
    ] == []


def test_devices_are_those_of_the_description(seen: Seen) -> None:
    links = {name: f"lrwxrwxrwx {target}" for name, target in prepared_sandbox.DEVICE_LINKS}
    wanted = {*prepared_sandbox.DEVICES, *links, *prepared_sandbox.DEVICE_DIRECTORIES}
    assert set(seen["dev"]) == wanted
    assert {name: seen["dev"][name] for name in links} == links
    assert all(seen["dev"][name].startswith("crw") for name in prepared_sandbox.DEVICES)
    assert set(seen["pts"]) == {"ptmx"}


def test_nothing_of_the_first_process_is_reached(seen: Seen) -> None:
    assert seen["first"] == []


def test_privileges_are_none_and_the_filter_is_loaded(seen: Seen) -> None:
    status = seen["status"]
    assert {name: status[name][0] for name in prepared_sandbox.STATUS} == prepared_sandbox.STATUS
    assert status["Seccomp_filters"] == ["1"]
    assert set(prepared_sandbox.NAMESPACES) <= set(seen["ns"])


def test_of_the_machine_there_is_no_control(seen: Seen) -> None:
    assert [name for name, let_in in {**seen["proc"], **seen["secrets"]}.items() if let_in] == []
    assert (seen["sys"], seen["run"]) == ({}, {})
    assert set(seen["cgroup"]) == {"/"}
    assert seen["maps"][0][2] == "1"


@pytest.mark.root
@pytest.mark.parametrize("engine", BUILDERS)
@pytest.mark.parametrize("writes", ["layer", "memory"])
def test_a_device_below_an_overlay_is_not_opened(place: Path, engine: str, writes: str) -> None:
    """Bubblewrap mounts such an overlay without flags; its user namespace holds all the same."""
    import stat

    device = place / "work/zero"
    os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    try:
        device.chmod(0o666)
        sandbox = Sandbox(
            str(place / "work"), level=str(place / f"{writes}.yaml"), engine=engine,
            policy="isolation-only",
        )  # fmt: skip
        assert sandbox.run("head -c 4 zero").stdout == b""
    finally:
        device.unlink()
