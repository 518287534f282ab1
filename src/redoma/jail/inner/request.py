"""What a waiting enclosure is asked to run: its words, its descriptors and its limits."""

from __future__ import annotations

import os
import resource

from redoma.jail.inner import packets
from redoma.jail.inner.orders import Orders
from redoma.jail.kernel import privileges


class Request:
    """One request, its descriptors put where the command will find them."""

    def __init__(self, fds: list[int]) -> None:
        """`fds` are those of `packed`, as they arrived."""
        words = iter(packets.read_words(fds[0]))
        numbers = [int(number) for number in next(words).split(",") if number]
        doors = int(next(words))
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
        self.doors = fds[4 : 4 + doors]
        # By the number that the words use; the command itself is given the low ones.
        self.fds: dict[int, int] = {}
        for number, fd in zip(numbers, fds[4 + doors :], strict=True):
            if number < packets.FIRST_OWN:
                os.dup2(fd, number)
                os.close(fd)
            self.fds[number] = number if number < packets.FIRST_OWN else fd

    def restrict(self, orders: Orders) -> None:
        """Puts the run's filter of system calls and its limits on this process and its heirs."""
        file = self.fds[orders.numbers["--seccomp"]]
        privileges.load_filter(os.pread(file, os.fstat(file).st_size, 0))
        os.close(file)
        for kind, soft, hard in self.limits:
            resource.setrlimit(kind, (soft, hard))


def rehearse() -> None:
    """Reads a request that asks for nothing, as every request is read."""
    options = ["--ro-bind", "/", "/", "--setenv", "A", "a", "--overlay-src", "/", "--chdir", "/"]
    words = packed(
        numbers=[], doors=0, limits=[(0, 0, 0)], umask=0o22, terminal=False, options=options,
        entry=(), argv=("",),
    )  # fmt: skip
    file = os.memfd_create("redoma")
    os.write(file, b"".join(os.fsencode(word) + b"\0" for word in words))
    Orders(Request([file, *(os.dup(number) for number in range(3))]).options)


def packed(
    *,
    numbers: list[int],
    doors: int,
    limits: list[tuple[int, int, int]],
    umask: int,
    terminal: bool,
    options: list[str],
    entry: tuple[str, ...],
    argv: tuple[str, ...],
) -> list[str]:
    """The words of a request.

    They go before three standard descriptors, `doors` of control groups, and those of `numbers`.
    """
    return [
        ",".join(map(str, numbers)),
        str(doors),
        ",".join(":".join(map(str, triple)) for triple in limits),
        f"{umask:o}",
        "terminal" if terminal else "",
        str(len(options)),
        *options,
        str(len(entry)),
        *entry,
        *argv,
    ]
