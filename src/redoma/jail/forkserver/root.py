"""Builds the root of a sandbox, step by step, and moves into it (`pivot_root`)."""

from __future__ import annotations

import os

from redoma.jail.engines import prepared_sandbox
from redoma.jail.forkserver.messages import RootStep
from redoma.jail.kernel import mounts, syscalls
from redoma.jail.kernel.syscalls import open_in_root
from redoma.jail.protect.untrusted_paths import open_below
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Where the step works: a file system of its own over a directory that every machine has.
_BASE = "/tmp"
_NEW, _OLD = "/new", "/old"


class Root:
    """A root in the making."""

    def __init__(self, *, no_user_namespaces: bool) -> None:
        self.owner = (os.geteuid(), os.getegid())
        self.no_user_namespaces = no_user_namespaces
        self._overlays = 0
        self._files = 0
        self._read_only: set[str] = set()

    def begin(self, size: int = 1 << 20) -> None:
        """An empty root to put things into; what the machine has is found below `/old`."""
        # What is unmounted outside while we wait goes away here as well; nothing goes out.
        mounts.only_receive("/")
        mounts.memory(_BASE, size=32 << 20, mode=0o755, owner=self.owner)
        os.mkdir(_BASE + _NEW)
        os.mkdir(_BASE + _OLD)
        os.chdir(_BASE)
        mounts.pivot(".", _OLD.lstrip("/"))
        os.chdir("/")
        mounts.memory(_NEW, size=size, mode=0o755, owner=self.owner)

    def add(self, steps: list[RootStep]) -> None:
        """Everything that was ordered, in this order."""
        for step in steps:
            try:
                self._do(step)
            except OSError as error:
                raise OSError(error.errno, f"{step.name} {step.place}: {error.strerror}") from None

    def processes(self) -> int:
        """A descriptor of the new root's /proc, by which it is found whatever `/` is."""
        return os.open(f"{_NEW}/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def taken(self) -> int:
        """A descriptor of the whole new root, for another mount namespace."""
        return mounts.taken(_NEW)

    def enter(self) -> None:
        """From here on `/` is the new root, and the old one is gone."""
        os.chdir(_NEW)
        mounts.pivot(".", ".")
        # With it goes what is mounted below: taking both away at once is waiting once.
        syscalls.detach(".")
        os.chdir("/")

    def _do(self, step: RootStep) -> None:
        name, place = step.name, step.place
        if place == prepared_sandbox.FIRST_PROCESS:
            return  # covered for bubblewrap's first process; ours keeps everybody out by itself
        if name in ("--bind", "--ro-bind"):
            source = step.source
            if name == "--ro-bind" and source == place == "/proc/sys":
                return  # done with /proc itself: the old one belongs to other processes
            if source == "/dev/null" and _gone(place):
                return  # a cover would leave a file behind where it was
            # What is given to be written has no link in it; one that is there now was put there.
            found = _found(source, links=name != "--bind" or source != place)
            self._bind(found, place, read_only=name == "--ro-bind", devices=source == "/dev/null")
        elif name in ("--bind-fd", "--ro-bind-fd"):
            self._bind_descriptor(int(step.source), place, read_only=name == "--ro-bind-fd")
        elif name == "--ro-bind-data":
            self._data(int(step.source), place, 0o600 if step.mode is None else step.mode)
        elif name == "--symlink":
            _directory(os.path.dirname(place))
            os.symlink(step.source, _NEW + place)
        elif name == "--dir":
            _directory(place)
        elif name == "--tmpfs":
            _directory(place)
            mode = 0o755 if step.mode is None else step.mode
            self._on(
                place, lambda at: mounts.memory(at, size=step.size, mode=mode, owner=self.owner)
            )
        elif name == "--remount-ro":
            self._make_read_only(place)
        elif name == "--proc":
            self._processes(place)
        elif name == "--dev":
            self._devices(place)
        elif name == "--overlay":
            _directory(place)
            layers = [_found(layer, links=layer != place) for layer in reversed(step.layers)]
            changes = (_found(step.source), _found(step.work))
            self._on(place, lambda at: mounts.overlay(at, lower=layers, changes=changes))
        elif name == "--tmp-overlay":
            self._overlay(step.layers, place)
        elif name == "--ro-overlay":
            _directory(place)
            layers = [_found(layer) for layer in reversed(step.layers)]
            self._on(place, lambda at: mounts.overlay(at, lower=layers))
            self._read_only.add(place)
        else:
            raise OSError(0, "nobody knows how to do that")

    def _make_read_only(self, place: str) -> None:
        if place in self._read_only:
            return  # an overlay that nothing can be written in has had its flags from the beginning
        fd = open_below(_NEW, _NEW + place.rstrip("/"))
        mounts.restrict(fd, read_only=True, devices=place == "/dev", below=False)
        os.close(fd)

    def _bind(self, source: str, place: str, *, read_only: bool, devices: bool = False) -> None:
        if os.path.isdir(source):
            _directory(place)
        else:
            _file(place)
        self._on(place, lambda at: mounts.bind(source, at))
        fd = open_below(_NEW, _NEW + place.rstrip("/"))
        mounts.restrict(fd, read_only=read_only, devices=devices, below=True)
        os.close(fd)

    def _bind_descriptor(self, fd: int, place: str, *, read_only: bool) -> None:
        # A descriptor from before belongs to the old mounts, which cannot be bound from here. Its
        # path is opened again, and has to lead to the same file.
        path = os.readlink(f"{_OLD}/proc/self/fd/{fd}")
        again = open_below(_OLD, _OLD + path)
        try:
            # Attack: another run swapped a part of the path for something else meanwhile.
            if not os.path.samestat(os.fstat(fd), os.fstat(again)):
                raise OSError(0, Message("{path} is not what it was", path=path))
            self._on(place, lambda at: mounts.bind(f"{_OLD}/proc/self/fd/{again}", at))
        finally:
            os.close(again)
            os.close(fd)
        held = open_below(_NEW, _NEW + place)
        mounts.restrict(held, read_only=read_only, devices=False, below=True)
        os.close(held)

    def _data(self, fd: int, place: str, mode: int) -> None:
        """A file with what a descriptor holds, laid over another."""
        self._files += 1
        path = f"/file{self._files}"
        made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        while data := os.read(fd, 1 << 16):
            os.write(made, data)
        os.fchmod(made, mode)
        os.close(made)
        os.close(fd)
        self._bind(path, place, read_only=True)
        os.unlink(path)

    def _processes(self, place: str) -> None:
        _directory(place)
        self._on(place, lambda at: mounts.processes(at, prepared_sandbox.PROC_OPTIONS))
        if self.no_user_namespaces:
            # Attack: in a user namespace of its own a command has every capability again. One more
            # is made by the inner step itself.
            with open(f"{_NEW}{place}/sys/user/max_user_namespaces", "w") as limit:
                limit.write("1")
        for name in prepared_sandbox.READ_ONLY_IN_PROC:
            # `sys` always: modes say little there, and settings of namespaces are their owner's.
            if name == "sys" or os.access(f"{_NEW}{place}/{name}", os.W_OK):
                self._bind(f"{_NEW}{place}/{name}", f"{place}/{name}", read_only=True)

    def _devices(self, place: str) -> None:
        _directory(place)
        self._on(place, lambda at: mounts.memory(at, size=1 << 16, mode=0o755, owner=self.owner))
        for name in prepared_sandbox.DEVICES:
            if os.path.exists(f"{_OLD}/dev/{name}"):
                self._bind(f"{_OLD}/dev/{name}", f"{place}/{name}", read_only=False, devices=True)
        for name, target in prepared_sandbox.DEVICE_LINKS:
            os.symlink(target, f"{_NEW}{place}/{name}")
        for name in prepared_sandbox.DEVICE_DIRECTORIES:
            os.mkdir(f"{_NEW}{place}/{name}", 0o755)
        self._on(f"{place}/pts", mounts.terminals)

    def _overlay(self, below: list[str], place: str) -> None:
        self._overlays += 1
        layers = f"/layers{self._overlays}"
        os.mkdir(layers)
        mounts.memory(layers, size=None, mode=0o755, owner=self.owner)
        lower = [_found(layer) for layer in reversed(below)]
        for name in ("upper", "work"):
            os.mkdir(f"{layers}/{name}", 0o755)
        os.chmod(f"{layers}/upper", os.stat(lower[0]).st_mode & 0o7777)
        _directory(place)
        changes = (f"{layers}/upper", f"{layers}/work")
        self._on(place, lambda at: mounts.overlay(at, lower=lower, changes=changes))

    @staticmethod
    def _on(place: str, mount: Callable[[str], None]) -> None:
        """Mounts on a place below the new root, never through a link."""
        fd = open_below(_NEW, _NEW + place.rstrip("/"))
        try:
            mount(f"{_OLD}/proc/self/fd/{fd}")
        finally:
            os.close(fd)


def _found(path: str, *, links: bool = True) -> str:
    """Where a path of the machine leads, seen from here: links on the way are the machine's."""
    root = os.open(_OLD, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = open_in_root(root, path, links=links)
    finally:
        os.close(root)
    try:
        return os.readlink(f"{_OLD}/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def _gone(place: str) -> bool:
    """Whether a directory of the new root no longer has what was to be covered in it."""
    directory, name = os.path.split(place)
    try:
        above = open_below(_NEW, _NEW + directory.rstrip("/"))
    except OSError:
        return False
    try:
        os.lstat(name, dir_fd=above)
    except FileNotFoundError:
        return True
    else:
        return False
    finally:
        os.close(above)


def _directory(place: str) -> None:
    os.makedirs(_NEW + place, 0o755, exist_ok=True)


def _file(place: str) -> None:
    _directory(os.path.dirname(place))
    if not os.path.lexists(_NEW + place):
        os.close(os.open(_NEW + place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
