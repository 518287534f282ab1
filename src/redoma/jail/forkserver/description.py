"""Reads a sandbox's description: the options of bubblewrap that our frames use, and no other.

One description for two engines: whatever a frame orders, bubblewrap does it or this reader's
user does; an option that is not known here is refused, never left out.
"""

from __future__ import annotations

from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
