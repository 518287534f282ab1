"""Copies the few entries of /etc that programs need, and only what everybody may read."""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress

from redoma.model.grant import NOBODYS_UID

_LARGEST = 4 << 20


def copy(names: list[str], place: str, given: tuple[str, ...] = ()) -> None:
    """Makes `place` a directory with these entries of /etc, and something to mount `given` over."""
    fresh = f"{place}.{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh, mode=0o755)
    for name in names:
        target = f"{fresh}/{name}"
        os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
        _one(f"/etc/{name}", target)
    for path in given:
        _mount_point(path, fresh + path.removeprefix("/etc"))
    os.symlink("/proc/mounts", f"{fresh}/mtab")
    _name_nobody(fresh)
    _name_author(fresh)
    old = f"{fresh}.old"
    if os.path.lexists(place):
        os.rename(place, old)
    os.rename(fresh, place)
    shutil.rmtree(old, ignore_errors=True)


def _mount_point(path: str, target: str) -> None:
    """An empty directory or file where there is nothing of that name in the copy."""
    if os.path.lexists(target):
        return
    # What is no directory on the way, or a link, is said by the kernel when it is mounted.
    with suppress(OSError):
        if os.path.isdir(path):
            os.makedirs(target, mode=0o755)
        else:
            os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
            with open(target, "x"):
                pass


def remove_unused(cache: str, *, older_than: float) -> None:
    """Removes copies that nobody has asked for in a time."""
    for name in os.listdir(cache):
        if not name.startswith("etc-") or not name.endswith(".made"):
            continue
        path = f"{cache}/{name}"
        with suppress(OSError):
            if os.stat(path).st_mtime < time.time() - older_than:
                os.unlink(path)
                shutil.rmtree(path.removesuffix(".made"), ignore_errors=True)


def _one(source: str, target: str) -> None:
    status = os.lstat(source)
    if stat.S_ISLNK(status.st_mode):
        link = os.readlink(source)
        # A link into what is seen inside stays a link; any other becomes what it leads to.
        if link.startswith("/usr/") or (link.startswith("/etc/")):
            os.symlink(link, target)
            return
        source = os.path.realpath(source)
        if source.startswith("/usr/"):
            os.symlink(source, target)
            return
        try:
            status = os.stat(source)
        except OSError:
            return
    if not status.st_mode & stat.S_IROTH:
        return
    if stat.S_ISDIR(status.st_mode):
        os.mkdir(target, 0o755)
        for name in os.listdir(source):
            _one(f"{source}/{name}", f"{target}/{name}")
    elif stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
        shutil.copyfile(source, target)
        os.chmod(target, stat.S_IMODE(status.st_mode) | 0o444)


def _name_nobody(place: str) -> None:
    """The identity of what root runs has a name, for programs that ask for one."""
    home = os.path.expanduser("~")
    with open(f"{place}/passwd", "a") as file:
        file.write(f"redoma:x:{NOBODYS_UID}:{NOBODYS_UID}::{home}:/bin/sh\n")
    with open(f"{place}/group", "a") as file:
        file.write(f"redoma:x:{NOBODYS_UID}:\n")


def _name_author(place: str) -> None:
    """Who commits, and nothing else of the person's git configuration: no helper, no program."""
    from redoma.jail.protect.git_repository import harmless

    try:
        with open(os.path.expanduser("~/.gitconfig"), encoding="utf-8") as file:
            kept, _ = harmless(file.read(1 << 20))
    except (OSError, UnicodeDecodeError):
        kept = ""
    os.mkdir(f"{place}/redoma")
    with open(f"{place}/redoma/gitconfig", "w", encoding="utf-8") as file:
        file.write(kept)
    # Something has to be there for a run's own certificates to be laid over it.
    with open(f"{place}/redoma/certificates.pem", "w") as file:
        file.write("")
