"""Messages with descriptors (SCM_RIGHTS) between the forkserver, its client and its sandboxes.

A request is the last of them: the words, the descriptors and the limits of one run.

Reads a sandbox's description: the options of bubblewrap that our frames use, and no other.

One description for two engines: whatever a frame orders, bubblewrap does it or this reader's
user does; an option that is not known here is refused, never left out.
"""

from __future__ import annotations

import os
import resource
from struct import pack, unpack

from redoma.base.cores import (
    CMSG_SPACE,
    MSG_CMSG_CLOEXEC,
    MSG_NOSIGNAL,
    SCM_RIGHTS,
    SOL_SOCKET,
    socket,
)
from redoma.jail.kernel import privileges
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


# The kernel takes 253 descriptors with one message.
_AT_ONCE = 200
_LONGEST = 4096
# What the process that stays is started with beside its standard descriptors: where it is asked,
# and what tells that whoever asks is gone.
CONTROL, HOST = 3, 4
# How it is asked for a process that a call goes on in, for one whose function comes by value, and
# for one that a command is started in.
ENTRY, BY_VALUE, COMMAND = b"e", b"v", b"c"
# Before any of these: nobody waits for it yet.
LATER = b"~"
# The message that tells a sandbox what comes first of its root, before it is asked.
AHEAD = b"ahead"
# Below these numbers a command may be given descriptors; ours are all above.
FIRST_OWN = 10
_SIZE = 4


def send(to: socket, data: bytes, fds: list[int] | None = None) -> None:
    """One message; its descriptors arrive as copies of ours."""
    rights = pack(f"{len(fds)}i", *fds) if fds else b""
    # A program may have left it to the kernel to end it where nobody reads: not for this.
    to.sendmsg([data], [(SOL_SOCKET, SCM_RIGHTS, rights)] if fds else [], MSG_NOSIGNAL)


def receive(source: socket) -> tuple[bytes, list[int]]:
    """The next message; empty when the other side is gone."""
    data, beside, _, _ = source.recvmsg(_LONGEST, CMSG_SPACE(_AT_ONCE * _SIZE), MSG_CMSG_CLOEXEC)
    fds: list[int] = []
    for level, kind, rights in beside:
        if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
            fds += unpack(f"{len(rights) // _SIZE}i", rights)
    return data, fds


def send_many(to: socket, fds: list[int]) -> None:
    """However many descriptors, the first message saying how many there will be."""
    for start in range(0, len(fds), _AT_ONCE):
        send(to, b"%d" % len(fds), fds[start : start + _AT_ONCE])


def receive_many(source: socket, data: bytes, fds: list[int]) -> list[int]:
    """What `send_many` sent, after its first message; nothing when the other side is gone."""
    while data and len(fds) < int(data):
        data, more = receive(source)
        fds += more
    return fds if data else []


def read_words(fd: int) -> list[str]:
    """The words of a file in memory, each ended by a NUL; closes it."""
    try:
        data = os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)
    return data.decode(errors="surrogateescape").split("\0")[:-1]


class SandboxRequest:
    """One request, its descriptors put where the command will find them."""

    def __init__(self, fds: list[int]) -> None:
        """`fds` are those of `packed_request`, as they arrived."""
        words = iter(read_words(fds[0]))
        numbers = [int(number) for number in next(words).split(",") if number]
        cgroup_files = int(next(words))
        self.limits = [
            tuple(int(part) for part in triple.split(":"))
            for triple in next(words).split(",")
            if triple
        ]
        self.umask = int(next(words), 8)
        self.terminal = next(words) == "terminal"
        self.options = [next(words) for _ in range(int(next(words)))]
        self.entry = [next(words) for _ in range(int(next(words)))]
        self.argv = list(words)
        for target, fd in enumerate(fds[1:4]):
            os.dup2(fd, target)
            os.close(fd)
        self.cgroup_files = fds[4 : 4 + cgroup_files]
        # By the number that the words use; the command itself is given the low ones.
        self.fds: dict[int, int] = {}
        for number, fd in zip(numbers, fds[4 + cgroup_files :], strict=True):
            if number < FIRST_OWN:
                os.dup2(fd, number)
                os.close(fd)
            self.fds[number] = number if number < FIRST_OWN else fd

    def restrict(self, orders: SandboxDescription) -> None:
        """Puts the run's filter of system calls and its limits on this process and its heirs."""
        file = self.fds[orders.numbers["--seccomp"]]
        privileges.load_filter(os.pread(file, os.fstat(file).st_size, 0))
        os.close(file)
        for kind, soft, hard in self.limits:
            resource.setrlimit(kind, (soft, hard))


def rehearse() -> None:
    """Reads a request that asks for nothing, as every request is read."""
    options = ["--ro-bind", "/", "/", "--setenv", "A", "a", "--overlay-src", "/", "--chdir", "/"]
    words = packed_request(
        numbers=[], cgroup_files=0, limits=[(0, 0, 0)], umask=0o22, terminal=False, options=options,
        entry=(), argv=("",),
    )  # fmt: skip
    file = os.memfd_create("redoma")
    os.write(file, b"".join(os.fsencode(word) + b"\0" for word in words))
    SandboxDescription(SandboxRequest([file, *(os.dup(number) for number in range(3))]).options)


def packed_request(
    *,
    numbers: list[int],
    cgroup_files: int,
    limits: list[tuple[int, int, int]],
    umask: int,
    terminal: bool,
    options: list[str],
    entry: tuple[str, ...],
    argv: tuple[str, ...],
) -> list[str]:
    """The words of a request.

    They go before three standard descriptors, the `cgroup_files`, and those of `numbers`.
    """
    return [
        ",".join(map(str, numbers)),
        str(cgroup_files),
        ",".join(":".join(map(str, triple)) for triple in limits),
        f"{umask:o}",
        "terminal" if terminal else "",
        str(len(options)),
        *options,
        str(len(entry)),
        *entry,
        *argv,
    ]


# What each option takes; those of the first kind are done by whoever starts the inner step.
_OUTSIDE = frozenset(
    "--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net --unshare-user "
    "--die-with-parent".split()
)
_FLAGS = frozenset("--disable-userns --new-session --clearenv".split())
_NUMBERS = frozenset("--json-status-fd --block-fd --seccomp --size --perms".split())
_MOUNTS_OF_ONE = frozenset(
    "--proc --dev --tmpfs --dir --remount-ro --tmp-overlay --ro-overlay".split()
)
_MOUNTS_OF_TWO = frozenset(
    "--ro-bind --bind --symlink --ro-bind-fd --bind-fd --ro-bind-data".split()
)


class RootStep:
    """One step of building the root."""

    __slots__ = ("layers", "mode", "name", "place", "size", "source", "work")

    def __init__(self, name: str, place: str, source: str = "", work: str = "") -> None:
        self.name = name
        self.place = place
        self.source = source
        self.work = work
        # What an overlay is made of, the lowest first.
        self.layers: list[str] = []
        self.size: int | None = None
        self.mode: int | None = None


class SandboxDescription:
    """A whole sandbox."""

    def __init__(self, options: list[str]) -> None:
        self.steps: list[RootStep] = []
        self.flags: set[str] = set()
        self.numbers: dict[str, int] = {}
        self.env: dict[str, str] = {}
        self.directory = "/"
        self._layers: list[str] = []
        rest = iter(options)
        for option in rest:
            self._read(option, rest)

    def _read(self, option: str, rest: Iterator[str]) -> None:
        take = rest.__next__
        if option in _OUTSIDE:
            return
        if option in _FLAGS:
            self.flags.add(option)
        elif option in _NUMBERS:
            self.numbers[option] = int(take(), 8 if option == "--perms" else 10)
        elif option in _MOUNTS_OF_ONE:
            self._add(RootStep(option, take()))
        elif option in _MOUNTS_OF_TWO:
            source = take()
            self._add(RootStep(option, take(), source))
        elif option == "--overlay-src":
            self._layers.append(take())
        elif option == "--overlay":
            upper, work = take(), take()
            self._add(RootStep(option, take(), upper, work))
        elif option == "--setenv":
            name = take()
            self.env[name] = take()
        elif option == "--chdir":
            self.directory = take()
        elif option == "--cap-drop" and take() == "ALL":
            pass  # always done
        else:
            raise ValueError(Message("the inner step does not know {option}", option=option))

    def _add(self, order: RootStep) -> None:
        if order.name in ("--tmpfs", "--dir", "--ro-bind-data"):
            order.size = self.numbers.pop("--size", None)
            order.mode = self.numbers.pop("--perms", None)
        if order.name in ("--tmp-overlay", "--ro-overlay", "--overlay"):
            order.layers, self._layers = self._layers, []
        self.steps.append(order)
