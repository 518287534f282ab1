"""What is left out of a sandbox that shows much, and the ways through it."""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base import own_directories
from redoma.jail.protect import installation
from redoma.model.errors import EngineFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.grant import Grant

_PAGE = 4096
_MOST = 200
# Not shown where everything is: a sandbox has its own of these, and has the others already.
_NEVER = frozenset("/dev /proc /run /sys /tmp".split())
_OF_ITS_OWN = _NEVER | frozenset("/bin /etc /lib /lib32 /lib64 /libx32 /opt /sbin /usr".split())


def in_everything(path: str) -> bool:
    """Whether a path of this machine is there where everything is shown."""
    return "/" + path.split("/", 2)[1] not in _NEVER


def top(*, as_nobody: bool = False, given: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What stands at the top of this machine, apart from what every sandbox has of its own.

    What is `given` by its own name is not taken apart: it is shown as that.
    """
    from redoma.jail.kernel.mounts import mount_points

    mounts = tuple(mount_points())
    shown: list[str] = []
    pending = [path for path in reversed(_directories("/")) if path not in _OF_ITS_OWN]
    while pending and len(shown) < _MOST:
        path = pending.pop()
        if path in given:
            continue
        # What has other mounts in it cannot be shown through an overlay; each part of it can. Parts
        # of /var/tmp come and go: root, whose mounts take others with them, shows all of it.
        whole = as_nobody and path == "/var/tmp"
        if not whole and any(mount.startswith(f"{path}/") for mount in mounts):
            pending += reversed(_directories(path))
        else:
            shown.append(path)
    return tuple(shown)


def empty_beside(source: str) -> str:
    """An empty directory of our own that does not lie in `source`: overlays may not overlap."""
    uid = os.geteuid()
    for place in (own_directories.made_cache(), f"/var/tmp/redoma-{uid}", f"/tmp/redoma-{uid}"):
        real = os.path.realpath(place)
        if not f"{real}/".startswith(f"{source}/") and own_directories.ours(real):
            with suppress(FileExistsError):
                os.mkdir(f"{real}/empty", 0o755)
            return f"{real}/empty"
    raise EngineFailed(f"{source} holds every directory of ours", hint="set XDG_CACHE_HOME")


def _directories(path: str) -> list[str]:
    try:
        with os.scandir(path) as found:
            return sorted(each.path for each in found if each.is_dir(follow_symlinks=False))
    except OSError:
        return []


def passages(everything: tuple[str, ...], roots: tuple[str, ...]) -> list[str]:
    """Empty directories over those that only their owner enters, on the way to what is given.

    Whoever mounts is nobody then, and so is whoever runs: neither could read them anyway.
    """
    made: list[str] = []
    for path in dict.fromkeys(_closed(root, everything) for root in roots):
        if path:
            made += ["--size", str(_PAGE), "--perms", "0755", "--tmpfs", path]
    return made


def reachable(grant: Grant, everything: tuple[str, ...]) -> tuple[str, ...]:
    """The hidden paths that nobody could enter; the others are hidden without being covered."""
    roots = (grant.workspace, *grant.writable, *grant.readable)
    given = tuple(f"{path}/" for path in roots if path != "/")
    return tuple(
        path
        for path in grant.hidden
        if f"{path}/".startswith(given) or not _closed(path, everything)
    )


def cover(
    paths: tuple[str, ...],
    inside: tuple[str, ...],
    *,
    etc: str,
    show: Callable[[str, str], list[str]],
) -> list[str]:
    """What covers each path that can be seen inside; /etc is seen as it is in `etc`.

    `show` orders the mount of what calls import from, where that lies in a directory of ours.
    """
    made: list[str] = []
    ours = {os.path.realpath(place) for place in own_directories.all_places()}
    for path in paths:
        below = f"{path}/"
        if any(path.startswith(f"{other}/") for other in paths):
            continue  # covered with what it lies in
        if path == "/dev" or not any(
            path == each or each.startswith(below) or path.startswith(f"{each}/") for each in inside
        ):
            continue
        source = etc + path.removeprefix("/etc") if path.startswith("/etc/") else path
        if os.path.isdir(source):
            made += ["--perms", "0555", "--tmpfs", path]
            of_ours = any(f"{place}/".startswith(below) for place in ours)
            libraries = installation.environment_in(path) if of_ours else ""
            made += show(libraries, libraries) if libraries else []
            made += ["--remount-ro", path]
        elif os.path.exists(source):
            made += ["--ro-bind", "/dev/null", path]
    return made


def _closed(path: str, everything: tuple[str, ...]) -> str:
    """The first directory on the way to a path that only its owner enters; empty for none."""
    for each in everything:
        if path.startswith(f"{each}/"):
            parts = path.removeprefix(f"{each}/").split("/")
            ways = ("/".join((each, *parts[:at])) for at in range(1, len(parts)))
            return next((way for way in ways if not _entered(way)), "")
    return ""


def _entered(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & 0o001)
    except OSError:
        return True  # it is not there, and hides nothing
