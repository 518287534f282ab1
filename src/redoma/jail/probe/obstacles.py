"""Says what stands in the way of a sandbox: a container, namespace, filter or setting around us.

Asked only where no sandbox could be made: what the kernel answers then (`EPERM`) says nothing to a
person. Each answer is one sentence, and something to type.
"""

from __future__ import annotations

import os

from redoma.jail.kernel.process import is_machines_root
from redoma.model.grant import NOBODYS_UID
from redoma.model.message import Message
from redoma.model.value import Value

_SYS_ADMIN = 1 << 21
_OPTIONS = (
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
    " --security-opt systempaths=unconfined"
)
# What every root that we make has, and no other.
_OURS = "etc/redoma/certificates.pem"


class Obstacle(Value):
    """Why no sandbox can be made here, and what would change that."""

    why: str
    hint: str


def obstacle(said: str = "", machine: str = "") -> Obstacle | None:
    """What is in the way, as far as it can be told; `said` is what an engine said."""
    if os.path.exists(f"{machine}/{_OURS}"):
        return Obstacle(
            why="this is inside a sandbox of Redoma's already, and no other can be made in it",
            hint="run the command without redoma: the sandbox around it holds it",
        )
    return _identity(machine) or _filter(machine) or _root(machine) or _hidden(said)


def _identity(machine: str) -> Obstacle | None:
    known = _map(machine)
    if known == []:
        return Obstacle(
            why="this user has no number in the user namespace around it",
            hint="unshare -Ur instead of unshare -U, or run redoma outside of it",
        )
    if not is_machines_root():
        return None
    if known and not any(first <= NOBODYS_UID < first + count for first, count in known):
        return Obstacle(
            why="the user namespace around this root knows nobody else the command could run as",
            hint="run redoma outside of it, or as an ordinary user",
        )
    if not int(_status(machine).get("CapEff", "ffffffffffffffff"), 16) & _SYS_ADMIN:
        return Obstacle(
            why="root has no CAP_SYS_ADMIN here, as in a container without privileges",
            hint=Message(
                "docker run --cap-add SYS_ADMIN {options} …, or run redoma as an ordinary user",
                options=_OPTIONS,
            ),
        )
    return None


def _filter(machine: str) -> Obstacle | None:
    if _status(machine).get("Seccomp", "0") != "2" or _makes_user_namespaces():
        return None
    return Obstacle(
        why="a filter of system calls around this process refuses new namespaces",
        hint=Message("docker run {options} …   # where that is a container's", options=_OPTIONS),
    )


def _root(machine: str) -> Obstacle | None:
    mounted = [line.split(" ")[4] for line in _lines(f"{machine}/proc/self/mountinfo")]
    if not mounted or "/" in mounted or _makes_user_namespaces():
        return None
    return Obstacle(
        why="this process is in a chroot, where the kernel makes no user namespace",
        hint="run redoma outside of the chroot, or enter it with systemd-nspawn -D DIR",
    )


def _hidden(said: str) -> Obstacle | None:
    if "proc" not in said or "not permitted" not in said:
        return None
    return Obstacle(
        why="parts of /proc are hidden here, as in a container, and the kernel makes no other",
        hint=Message("docker run {options} …   # where that is a container's", options=_OPTIONS),
    )


def _makes_user_namespaces() -> bool:
    from redoma.jail.kernel import syscalls

    try:
        syscalls.Sleeper(syscalls.CLONE_NEWUSER).end()
    except OSError:
        return False
    return True


def _map(machine: str) -> list[tuple[int, int]] | None:
    """(first, count) of the numbers that users have here; None where nobody can tell."""
    path = f"{machine}/proc/self/uid_map"
    if not os.path.exists(path):
        return None
    lines = _lines(path)
    return [(int(line.split()[0]), int(line.split()[2])) for line in lines]


def _status(machine: str) -> dict[str, str]:
    lines = _lines(f"{machine}/proc/self/status")
    return {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines}


def _lines(path: str) -> list[str]:
    try:
        with open(path, errors="surrogateescape") as file:
            return file.read().splitlines()
    except OSError:
        return []


def hints(machine: str = "", *, install: str = "") -> tuple[str, ...]:
    """What a person would type so that user namespaces work on a machine, given by its root.

    `install` is the command that installs what is missing, where something is.
    """
    found = []
    if _is(f"{machine}/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
        found.append(
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
            "   # Ubuntu: AppArmor restricts user namespaces; or give bwrap a profile of its own"
        )
    if _is(f"{machine}/proc/sys/kernel/unprivileged_userns_clone", "0"):
        found.append("sudo sysctl -w kernel.unprivileged_userns_clone=1")
    if _is(f"{machine}/proc/sys/user/max_user_namespaces", "0"):
        found.append("sudo sysctl -w user.max_user_namespaces=15000")
    if any(os.path.exists(f"{machine}/{mark}") for mark in (".dockerenv", "run/.containerenv")):
        found.append(
            "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
            " --security-opt systempaths=unconfined …   # inside a container"
        )
    if install:
        found.append(install)
    return tuple(found)


def _is(path: str, value: str) -> bool:
    try:
        with open(path) as file:
            return file.read().strip() == value
    except OSError:
        return False
