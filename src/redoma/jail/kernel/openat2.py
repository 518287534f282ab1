"""Opens, moves and flushes below a directory in ways that Python has no name for."""

from __future__ import annotations

import errno
import os
import struct

from redoma.jail.kernel import syscalls

_OPENAT2 = 437
# By machine: the numbers of renameat2 and of syncfs.
_NUMBERS = {"x86_64": (316, 306), "aarch64": (276, 267)}
_RENAMEAT2, _SYNCFS = _NUMBERS.get(os.uname().machine, (0, 0))

_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x01, 0x02, 0x04, 0x08
_IN_ROOT = 0x10
_RESOLVE = _NO_XDEV | _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH
_NOREPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_TRIES = 64


def open_beneath(root: int, path: str, flags: int) -> int:
    """A descriptor of `path` below `root`; no link is followed and no mount is entered on the way.

    The kernel walks the path in one call: nobody can swap a directory for a link between a look
    and a use.
    """
    return _open(root, path, flags, _RESOLVE)


def open_plain(path: str) -> int:
    """A descriptor (O_PATH) of an absolute path in which nothing is a link; ELOOP otherwise."""
    return _open(-100, path, os.O_PATH, _NO_SYMLINKS | _NO_MAGICLINKS)


def open_in_root(root: int, path: str, *, links: bool = True) -> int:
    """A descriptor (O_PATH) of what `path` would be if `root` were `/`, its links included."""
    no_links = 0 if links else _NO_SYMLINKS
    return _open(root, path, os.O_PATH, _IN_ROOT | _NO_MAGICLINKS | no_links)


def _open(root: int, path: str, flags: int, resolve: int) -> int:
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, resolve)
    for _ in range(_TRIES):
        try:
            return syscalls.syscall(_OPENAT2, root, os.fsencode(path), how, len(how))
        except OSError as error:
            # A rename somewhere on the machine while it looked: the kernel asks us to look again.
            if error.errno != errno.EAGAIN:
                error.filename = path
                raise
    raise OSError(errno.EAGAIN, "the directory does not come to rest", path)


def move(source: tuple[int, str], target: tuple[int, str]) -> None:
    """Renames `source` to `target`, each a directory and a name; never over something else."""
    try:
        _rename(source, target, _NOREPLACE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        # A file system without the flag: a directory is never replaced by a file or the reverse,
        # and whoever makes the very name between these two lines loses to us.
        if _exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target[1]) from None
        os.rename(source[1], target[1], src_dir_fd=source[0], dst_dir_fd=target[0])


def exchange(one: tuple[int, str], other: tuple[int, str]) -> None:
    """Swaps two names at once: whoever looks finds the one or the other, never nothing."""
    _rename(one, other, _EXCHANGE)


def can_exchange(directory: int) -> bool:
    """Whether this file system swaps names at once, found by asking for two that are not there."""
    try:
        _rename((directory, ".redoma-not-there"), (directory, ".redoma-nor-there"), _EXCHANGE)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def flush_file_system(fd: int) -> None:
    """Everything written so far to the file system of `fd` is on disk when this returns."""
    syscalls.syscall(_SYNCFS, fd)


def _rename(source: tuple[int, str], target: tuple[int, str], flags: int) -> None:
    try:
        syscalls.syscall(
            _RENAMEAT2, source[0], os.fsencode(source[1]), target[0], os.fsencode(target[1]), flags
        )
    except OSError as error:
        error.filename, error.filename2 = source[1], target[1]
        raise


def _exists(place: tuple[int, str]) -> bool:
    try:
        os.stat(place[1], dir_fd=place[0], follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
