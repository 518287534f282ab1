"""Where a path lies and what it is worth: pure questions about names, no file system asked."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN
from redoma.model.decision import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.state import Ground

_GLOB = re.compile(r"[*?\[]|[@+!]\(")
_SYSTEM_ROOTS = frozenset(
    "bin boot cdrom dev etc home lib lib32 lib64 libx32 lost+found media mnt opt proc root run "
    "sbin snap srv sys usr var nix System Library Applications Users Volumes private cores".split()
)
_SYSTEM_BRANCHES = frozenset(
    "/usr/bin /usr/lib /usr/lib64 /usr/sbin /usr/share /usr/local /usr/local/bin /usr/local/lib "
    "/usr/include /usr/libexec /var/lib /var/log /var/cache /var/spool /var/db /var/run /var/www "
    "/var/backups /var/mail /lib/modules /lib/systemd /etc/ssh /etc/systemd /etc/pam.d /etc/ssl "
    "/etc/init.d /etc/cron.d /private/etc /private/var /System/Library".split()
)
_HOMES = re.compile(r"/(?:home|Users)/[^/]+|/root|/var/root|/export/home/[^/]+")
_TEMP = re.compile(r"/(?:private/)?(?:var/)?tmp(?:/|$)|/dev/shm(?:/|$)|/(?:private/)?var/folders/")
_QUIET_DEVICES = re.compile(
    r"/dev/(?:null|zero|stdin|stdout|stderr|tty|u?random|full|fd/\d+|ptmx|pts/\d+)$|/proc/self/fd/\d+$"
)
_KERNEL = ("/proc/sysrq-trigger", "/proc/sys/", "/sys/power/", "/sys/kernel/", "/sys/firmware/")
_NET_DEVICE = re.compile(r"/dev/(?:tcp|udp)/")

_VERSION_CONTROL = ("/.git/", "/.hg/", "/.svn/", "/.jj/", "/.bzr/")


def normal(path: str, cwd: str) -> str:
    """The path made absolute, `.` and `..` resolved by name; unknown stretches stay marked."""
    if not path.startswith("/"):
        if path.startswith(UNKNOWN):
            return path
        path = f"{cwd}/{path}"
        if cwd.startswith(UNKNOWN):
            return path
    if "/." not in path and "//" not in path and not path.endswith("/"):
        return path
    out: list[str] = []
    for step in path.split("/"):
        if step in ("", "."):
            continue
        if step == "..":
            if out:
                out.pop()
        else:
            out.append(step)
    return "/" + "/".join(out)


def place_of(path: str, ground: Ground) -> Place:
    """Where an absolute path lies."""
    if UNKNOWN in path:
        return _partly_known(path, ground)
    if path == "/":
        return Place.ROOT
    if path.startswith("/dev/"):
        if _QUIET_DEVICES.match(path):
            return Place.NOWHERE
        if _NET_DEVICE.match(path):
            return Place.HOST
        if not path.startswith("/dev/shm"):
            return Place.DEVICE
    workspace = ground.workspace
    if workspace != "/" and (path == workspace or path.startswith(workspace + "/")):
        inside = _of_machine(workspace, ground)
        if inside not in (Place.ROOT, Place.HOME_ROOT, Place.SYSTEM_TREE):
            rest = path[len(workspace) :]
            return Place.REPOSITORY if in_repository(rest) else Place.WORKSPACE
    return _of_machine(path, ground)


def _of_machine(path: str, ground: Ground) -> Place:
    glob = _GLOB.search(path)
    if glob:
        # What a pattern reaches is the directory it stands in: `/*` is everything.
        path = path[: path.rfind("/", 0, glob.start())] or "/"
        if path == "/":
            return Place.ROOT
    if path == "/":
        return Place.ROOT
    home = ground.home
    if path == home or _HOMES.fullmatch(path):
        return Place.HOME_ROOT
    if home.startswith(path + "/"):
        return Place.SYSTEM_TREE
    if _TEMP.match(path) and not path.startswith(home + "/"):
        return Place.TEMP
    if path.startswith(home + "/") or _HOMES.match(path + "/"):
        return Place.HOME
    first, _, rest = path[1:].partition("/")
    if first not in _SYSTEM_ROOTS:
        return Place.OUTSIDE
    if not rest or path in _SYSTEM_BRANCHES:
        return Place.SYSTEM_TREE
    if first in ("mnt", "media", "srv", "opt", "Volumes"):
        return Place.OUTSIDE
    return Place.SYSTEM


def _partly_known(path: str, ground: Ground) -> Place:
    if not path.startswith("/"):
        return Place.UNKNOWN
    known = path[: path.index(UNKNOWN)].rpartition("/")[0]
    if not known:
        return Place.UNKNOWN
    place = place_of(known, ground)
    if place in (Place.HOME_ROOT, Place.SYSTEM_TREE):
        return Place.HOME if place is Place.HOME_ROOT else Place.SYSTEM
    return place


def steers_kernel(path: str) -> bool:
    """Whether writing there changes the running kernel, as writing to a device does."""
    return path.startswith(_KERNEL)


def root_if_empty(path: str) -> bool:
    """Whether a path becomes `/`, its children or a home when its unknown stretch is empty."""
    if UNKNOWN not in path:
        return False
    bare = path.replace(UNKNOWN, "").rstrip("*").rstrip("/")
    return bare == "" and "/" in path


def in_repository(path: str) -> bool:
    """Whether it is what version control keeps its history in."""
    around = f"/{path}/"
    return any(tree in around for tree in _VERSION_CONTROL) or ".git/" in around
