"""Whether a directory can be a workspace, said before anything is built."""

from __future__ import annotations

import os

from redoma.model.access import SHARED
from redoma.model.errors import UsageError

_SYSTEM = frozenset(
    "/bin /boot /dev /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp "
    "/usr /var /var/tmp /usr/local".split()
)


def workspace(path: str) -> str:
    """The real path of a usable workspace; otherwise an error that says what is wrong with it."""
    real = os.path.realpath(path or ".")
    hint = "cd into a project, or --workspace DIR"
    if not os.path.lexists(path or "."):
        raise UsageError(f"the workspace {path} does not exist", hint=hint)
    if not os.path.isdir(real):
        raise UsageError(f"the workspace {path} is not a directory", hint=hint)
    home = os.path.realpath(os.path.expanduser("~"))
    if real == home:
        raise UsageError(
            f"{real} is your home directory: a command could write everything in it", hint=hint
        )
    if real == "/" or real in _SYSTEM or home.startswith(real + "/"):
        raise UsageError(f"{real} belongs to the whole machine, not to one project", hint=hint)
    if not os.access(real, os.R_OK | os.W_OK | os.X_OK):
        owner = os.stat(real).st_uid
        raise UsageError(
            f"{real} belongs to uid {owner}, and you cannot write it",
            hint="run as its owner, or choose another --workspace DIR",
        )
    return real


def granted_path(path: str, option: str, *, wide: bool = False, root: str = "") -> str:
    """The real path of something that a run may also use; `wide` lets a home be written.

    Attack: in the workspace `root` a command makes `build` a link; whoever gives `build` the next
    time would give what that leads to.
    """
    path = os.path.expanduser(path)
    if not os.path.exists(path):
        raise UsageError(f"{option}: {path} does not exist")
    real = os.path.realpath(path)
    from redoma.jail.guard.links import led_out

    if root and led_out(os.path.abspath(path), (root,)):
        raise UsageError(
            f"{option}: {path} is led out of the workspace by a link in it, to {real}",
            hint=f"{option} {real} gives that place by its own name",
        )
    home = os.path.realpath(os.path.expanduser("~"))
    if wide and real in (home, *SHARED):
        return real
    if option == "--allow-write" and (real in (*_SYSTEM, "/", home) or home.startswith(real + "/")):
        raise UsageError(f"{option}: {real} is too much to give to one command")
    return real
