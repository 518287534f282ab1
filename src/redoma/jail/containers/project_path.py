"""Says which directory may be a container's workspace: one project, and nothing of the machine."""

from __future__ import annotations

import os

from redoma.base import own_directories
from redoma.base.paths import is_below, is_within
from redoma.model.errors import UsageError

# Neither these nor anything below them is a project.
_MACHINE = """
    /bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /proc /run /sbin /sys /usr /var/lib/containerd
    /var/lib/containers /var/lib/docker /var/run
""".split()
# These hold projects, and are none.
_ABOVE = "/ /home /media /mnt /opt /root /srv /tmp /var /var/lib /var/tmp".split()
# Below the home directory: what is secret, and never a project.
_SECRET = ".aws .azure .config .docker .gnupg .kube .local .mozilla .password-store .ssh".split()
_SOCKETS = ("docker.sock", "podman.sock", "containerd.sock", "crio.sock")
_HINT = "name one project's own directory"


def project_directory(path: str, socket: str = "") -> tuple[str, tuple[int, int]]:
    """The directory and its identity; UsageError where a container may not have it.

    `socket` is where the engine listens.
    """
    if not path:
        raise UsageError("a container needs a project", hint=_HINT)
    if "\0" in path or "\n" in path or ":" in path:
        # Attack: in a bind `a:b:c` a colon would name another place inside, or an option.
        raise UsageError(f"{path!r} cannot be named to a container engine", hint="rename it")
    if ".." in path.split("/"):
        raise UsageError(f"{path} leads up again with ..", hint=_HINT)
    place = os.path.normpath(os.path.abspath(path))
    # Attack: a link in the project's place leads the engine, which is root, anywhere.
    if os.path.realpath(place) != place:
        raise UsageError(
            f"{place} is reached through a link", hint=f"name {os.path.realpath(place)} itself"
        )
    if not os.path.isdir(place):
        raise UsageError(f"{place} is not a directory", hint=_HINT)
    home = os.path.realpath(os.path.expanduser("~"))
    if place in _ABOVE or any(is_within(place, root) for root in _MACHINE):
        raise UsageError(f"{place} is the machine's, and no project", hint=_HINT)
    if is_within(home, place):
        raise UsageError(f"{place} holds the home directory with all its keys", hint=_HINT)
    if any(is_within(place, f"{home}/{name}") for name in _SECRET):
        raise UsageError(f"{place} holds keys or settings of yours, and is no project", hint=_HINT)
    for ours in own_directories.all_places():
        real = os.path.realpath(ours)
        if is_within(place, real) or is_below(real, place):
            raise UsageError(f"{place} has directories of Redoma's own: {real}", hint=_HINT)
    for listener in (socket, "/run/docker.sock", "/run/podman/podman.sock"):
        if listener and is_below(os.path.realpath(listener), place):
            raise UsageError(f"{place} has an engine's socket in it: {listener}", hint=_HINT)
    for name in _SOCKETS:
        if os.path.lexists(f"{place}/{name}"):
            raise UsageError(f"{place} has an engine's socket in it: {name}", hint=_HINT)
    status = os.stat(place)
    return place, (status.st_dev, status.st_ino)


def user_of(project: str) -> tuple[int, int]:
    """Who runs inside: the caller; for root, the project's owner."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    status = os.stat(project)
    return status.st_uid, status.st_gid
