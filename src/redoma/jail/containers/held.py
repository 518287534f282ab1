"""Looks from outside at what holds for a container: the kernel's word, not the engine's.

An engine may take a limit and ignore it with a warning; what is not seen here does not hold.
"""

from __future__ import annotations

import os

from redoma.jail.kernel.cgroups import mounted
from redoma.model.grant import Guarantee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_CAPABILITY = "0000000000000000"
_GROUP = "the engine holds it to no control group of its own"
_FILES = {
    Guarantee.MEMORY_CAPPED: ("memory", ("memory.max", "memory.limit_in_bytes")),
    Guarantee.PROCESSES_CAPPED: ("pids", ("pids.max",)),
    Guarantee.CPU_CAPPED: ("cpu", ("cpu.max", "cpu.cfs_quota_us")),
}


def lost(pid: int, *, memory: int, pids: int, closed: bool) -> dict[Guarantee, str]:
    """What does not hold for a container's first process, each with what was seen.

    ProcessLookupError where that has ended.
    """
    status = _status(pid)
    found: dict[Guarantee, str] = {}
    privileges = [status.get(name, "?") for name in ("CapEff", "CapPrm", "CapBnd", "CapInh")]
    if status.get("NoNewPrivs") != "1" or set(privileges) != {_NO_CAPABILITY}:
        found[Guarantee.NO_NEW_PRIVILEGES] = f"it has capabilities: {' '.join(privileges)}"
    if status.get("Seccomp") != "2":
        found[Guarantee.SYSCALLS_FILTERED] = "it has no filter of system calls"
    for guarantee, kind in (
        (Guarantee.PROCESSES_HIDDEN, "pid"),
        (Guarantee.WRITES_CONFINED, "mnt"),
        *(((Guarantee.NETWORK_CLOSED, "net"),) if closed else ()),
    ):
        if _namespace(pid, kind) in ("", _namespace(os.getpid(), kind)):
            found[guarantee] = f"it has no {kind} namespace of its own"
    if closed and Guarantee.NETWORK_CLOSED not in found and _interfaces(pid) - {"lo"}:
        found[Guarantee.NETWORK_CLOSED] = "it has an interface beside loopback"
    limits = {Guarantee.MEMORY_CAPPED: memory, Guarantee.PROCESSES_CAPPED: pids}
    for guarantee, (controller, names) in _FILES.items():
        value = _limit(pid, controller, names)
        most = limits.get(guarantee)
        if value is None or (most is not None and value > most):
            found[guarantee] = _GROUP
    return found


def kernel_user(pid: int) -> int:
    """Who a process is for the kernel outside: the one number that all of its users are."""
    users = set(_status(pid).get("Uid", "-1").split())
    return int(users.pop()) if len(users) == 1 else -1


def refused_processes(pid: int) -> bool:
    """Whether the control group of a process has refused to make another."""
    places, groups = mounted(), _groups(pid)
    for name, key in (("pids", "pids"), ("", "cgroup2")):
        try:
            with open(f"{places[key]}{groups[name]}/pids.events") as file:
                return any(line.split()[0] == "max" and int(line.split()[1]) for line in file)
        except (OSError, KeyError):
            continue
    return False


def out_of_memory(pid: int) -> bool:
    """Whether the kernel has ended a process of a control group because of its memory."""
    places, groups = mounted(), _groups(pid)
    for name, key, file_name in (
        ("memory", "memory", "memory.oom_control"),
        ("", "cgroup2", "memory.events"),
    ):
        try:
            with open(f"{places[key]}{groups[name]}/{file_name}") as file:
                pairs = dict(line.split() for line in file)
        except (OSError, KeyError):
            continue
        if int(pairs.get("oom_kill", "0")):
            return True
    return False


def same_directory(pid: int, path: str, expected: tuple[int, int]) -> bool:
    """Whether a path inside is the directory that was looked at outside."""
    try:
        status = os.stat(f"/proc/{pid}/root{path}")
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == expected


def processes_inside(pid: int) -> list[int]:
    """Every process of a container that we can see, the first one included."""
    inside = _namespace(pid, "pid")
    if inside in ("", _namespace(os.getpid(), "pid")):
        return []
    names = (name for name in os.listdir("/proc") if name.isdigit())
    return [int(name) for name in names if _namespace(int(name), "pid") == inside]


def _namespace(pid: int, kind: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return ""


def _status(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/status") as file:
            pairs = (line.partition(":") for line in file)
            return {name: value.strip() for name, _, value in pairs}
    except FileNotFoundError:
        raise ProcessLookupError from None


def _interfaces(pid: int) -> set[str]:
    with open(f"/proc/{pid}/net/dev") as file:
        return {line.partition(":")[0].strip() for line in file if ":" in line}


def _groups(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return {}  # it has ended
    return {controllers: path for _, controllers, path in lines}


def _limit(pid: int, controller: str, names: Iterable[str]) -> int | None:
    """The number in the first of these files of a process's control group; None for no limit."""
    places, ours = mounted(), _groups(os.getpid())
    for controllers, path in _groups(pid).items():
        # Attack: a limit that holds for us and a container together is none of the container's.
        if path in ("/", ours.get(controllers)):
            continue
        if controller in controllers.split(","):
            base = places.get(controller, "")
        elif not controllers:
            base = places.get("cgroup2", "")
        else:
            continue
        for name in names:
            try:
                with open(f"{base}{path.rstrip('/')}/{name}") as file:
                    word = file.read().split()[0]
            except (OSError, IndexError):
                continue
            # Version 1 says "none" with a number that no machine has.
            if base and word.lstrip("-").isdigit() and 0 < int(word) < 1 << 60:
                return int(word)
    return None
