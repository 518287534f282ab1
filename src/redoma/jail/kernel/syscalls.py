"""System calls that Python has no name for, and their numbers on each machine.

By the core of `ctypes` alone: the package around it costs a cold start two milliseconds.

Opens, moves and flushes below a directory in ways that Python has no name for.
"""

from __future__ import annotations

import errno
import os
import struct
from _ctypes import (
    FUNCFLAG_CDECL,
    FUNCFLAG_PYTHONAPI,
    FUNCFLAG_USE_ERRNO,
    Array,
    CFuncPtr,
    _SimpleCData,
    addressof,
    call_function,
    dlopen,
    dlsym,
    get_errno,
)
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Long(_SimpleCData):  # type: ignore[type-arg]
    """A register's worth of number."""

    _type_ = "l"


class _Byte(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "b"


class _Stack(Array):  # type: ignore[type-arg]
    _type_ = _Byte
    _length_ = 1 << 16


class _Function(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = Long


class _Locked(CFuncPtr):
    """A function that is called without letting another thread run meanwhile."""

    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO | FUNCFLAG_PYTHONAPI
    _restype_ = Long


_LIBRARY = dlopen("", 0)
_syscall = _Function(dlsym(_LIBRARY, "syscall"))
_prctl = dlsym(_LIBRARY, "prctl")

# The calls added since 2019 have one number everywhere.
OPEN_TREE = 428
MOVE_MOUNT = 429
MOUNT_SETATTR = 442
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
# The new process is a child of our parent, who alone waits for it.
CLONE_PARENT = 0x8000

_PR_CAPBSET_DROP = 24
PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
_PR_SET_SECUREBITS, _KEEP_RIGHTS = 28, 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def syscall(number: int, *arguments: object) -> int:
    """The kernel's answer to one call; an error is an OSError."""
    given = [Long(a) if isinstance(a, int) else a for a in arguments]
    return checked(_syscall(Long(number), *given))


def prctl(option: int, value: int = 0, extra: object = 0) -> int:
    """Changes or tells one attribute of this process."""
    return syscall(_NUMBERS["prctl"], option, value, extra, 0, 0)


def drop_bound(capability: int) -> bool:
    """Takes one capability from what this process could ever gain; False where it cannot."""
    # Forty times for each run: without making objects of the arguments.
    answer: int = call_function(_prctl, (_PR_CAPBSET_DROP, capability, 0, 0, 0))
    return answer == 0


def unshare(flags: int) -> None:
    """Leaves the namespaces named by `flags` for new ones."""
    syscall(_NUMBERS["unshare"], flags)


def enter(namespace: int, kind: int) -> None:
    """Moves this process into the namespace behind a descriptor."""
    syscall(_NUMBERS["setns"], namespace, kind)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mounts `source` on `target`."""
    syscall(
        _NUMBERS["mount"],
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        flags,
        data.encode() or None,
    )


def detach(target: str) -> None:
    """Takes away what is mounted on `target`, with everything mounted below it."""
    syscall(_NUMBERS["umount2"], os.fsencode(target), 2)


def set_capabilities(header: bytes, sets: bytes) -> None:
    """The capabilities of this process."""
    syscall(_NUMBERS["capset"], header, sets)


class Sleeper:
    """A process that does nothing, in namespaces of its own, until it is ended.

    It is not forked: it shares our memory, since copying that would cost more than all else here,
    and does nothing in it but wait.
    """

    def __init__(self, flags: int) -> None:
        self._stack = _Stack()
        top = addressof(self._stack) + _Stack._length_
        clone, pause = dlsym(_LIBRARY, "clone"), dlsym(_LIBRARY, "pause")
        self.pid = checked(
            _Function(clone)(Long(pause), Long(top), Long(_CLONE_VM | _SIGCHLD | flags), None)
        )

    def end(self) -> None:
        """Nothing of it is left."""
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def fork_into(namespaces: int) -> int:
    """Forks this interpreter straight into new namespaces; for a process with one thread only.

    0 in the new process, its number in the old one.
    """
    from redoma.jail.kernel.syscall_table import number

    call = number("clone", os.uname().machine)
    assert call is not None
    fork = _Locked(dlsym(_LIBRARY, "syscall"))
    # The interpreter's own steps around a fork, since this one is not made by it.
    before, in_parent, in_child = (
        _Locked(dlsym(_LIBRARY, f"PyOS_{name}"))
        for name in ("BeforeFork", "AfterFork_Parent", "AfterFork_Child")
    )
    arguments = (Long(call), Long(namespaces | _SIGCHLD), *(Long(0) for _ in range(4)))
    before()
    answer = fork(*arguments)
    if answer == 0:
        in_child()
        return 0
    in_parent()
    return checked(answer)


def set_ids_of_thread(number: int) -> None:
    """The real and effective user and group of this thread alone; the saved ones stay root's.

    The C library's functions would change every thread of the process.
    """
    user, group = _NUMBERS["setresuid"], _NUMBERS["setresgid"]
    if number:
        syscall(group, number, number, 0)
        syscall(user, number, number, 0)
    else:
        syscall(user, 0, 0, 0)
        syscall(group, 0, 0, 0)


@contextmanager
def files_of(number: int) -> Iterator[None]:
    """In this block what this process makes is that user's and group's; its rights stay root's.

    An overlay that is mounted meanwhile writes in that name. For a process with one thread.
    """
    prctl(_PR_SET_SECUREBITS, _KEEP_RIGHTS)
    calls = [_NUMBERS["setfsgid"], _NUMBERS["setfsuid"]]
    for call in calls:
        _syscall(Long(call), Long(number))
        # It tells who it was before, and of an error nothing: asked again, it has to be this one.
        if _syscall(Long(call), Long(number)) != number:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    try:
        yield
    finally:
        for call in reversed(calls):
            _syscall(Long(call), Long(0))
        prctl(_PR_SET_SECUREBITS, 0)


def set_groups_of_thread() -> None:
    """This thread alone has no supplementary groups from here on."""
    syscall(_NUMBERS["setgroups"], 0, None)


_CLONE_VM, _SIGCHLD = 0x100, 17
_NAMES = tuple(
    "prctl unshare mount umount2 capset setresuid setresgid setgroups setns setfsuid"
    " setfsgid".split()
)
_OF_MACHINE = {
    "x86_64": (157, 272, 165, 166, 126, 117, 119, 116, 308, 122, 123),
    "aarch64": (167, 97, 40, 39, 91, 147, 149, 159, 268, 151, 152),
}
# On a machine that is not known no sandbox is built; asking for one is an error that says so.
_NUMBERS = dict(zip(_NAMES, _OF_MACHINE.get(os.uname().machine, ()), strict=False))


def checked(answer: int) -> int:
    """The answer of a system call, or its error."""
    if answer < 0:
        number = get_errno()
        raise OSError(number, os.strerror(number))
    return answer


_OPENAT2 = 437
# By machine: the numbers of renameat2 and of syncfs.
_OPENAT2_NUMBERS = {"x86_64": (316, 306), "aarch64": (276, 267)}
_RENAMEAT2, _SYNCFS = _OPENAT2_NUMBERS.get(os.uname().machine, (0, 0))

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
            return syscall(_OPENAT2, root, os.fsencode(path), how, len(how))
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
    syscall(_SYNCFS, fd)


def _rename(source: tuple[int, str], target: tuple[int, str], flags: int) -> None:
    try:
        syscall(
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
