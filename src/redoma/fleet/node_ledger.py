"""What a worker keeps on its node's disk of each item, so that nobody has to guess how it ended.

An item is marked before it begins, and its end is stored before anybody is told. So whoever comes
after a crash, of the worker or of the driver, asks the node: an end that is stored is taken and the
item not run again; an item without a mark was never begun. A mark without an end is a run that was
cut off. What is stored goes when the driver says that it has it on its own disk.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import shutil
import time
from contextlib import suppress
from enum import Enum

from redoma.base import own_directories
from redoma.base.identity import boot_id
from redoma.base.private_file import make_directory
from redoma.fleet.items import Delivery
from redoma.model.errors import RunError, StateUnavailable
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LOCK, _FENCE, _BOOT = "lock", "fence", "boot"
_BEGUN, _ENDED = ".begun", ".ended"
_PATIENCE = 20.0
_OLD = 14 * 24 * 3600.0


class Fate(Enum):
    """What a ledger says of an item."""

    NEVER_BEGUN = "never-begun"
    CUT_OFF = "cut-off"
    ENDED = "ended"
    NOT_KNOWN = "not-known"  # there is no such ledger, or not of this boot, or it is in use


class Recalled(Value):
    """What the ledger of one worker says, once nobody writes it any more."""

    # Whether it can be believed where it has no mark: it is there, of this boot, and closed.
    whole: bool
    ended: dict[int, Delivery]
    begun: frozenset[int] = frozenset()

    def of(self, number: int) -> Fate:
        """How an item stands that was sent to this worker."""
        if number in self.ended:
            return Fate.ENDED
        if not self.whole:
            return Fate.NOT_KNOWN
        return Fate.CUT_OFF if number in self.begun else Fate.NEVER_BEGUN


class Fenced(RunError):
    """Somebody already asked what became of this worker's items, so it begins no other."""

    code = "fenced"


def ledgers_of(job: str) -> str:
    """Where this node keeps what it knows of a job."""
    return f"{own_directories.made_state()}/fleet/{job}"


class NodeLedger:
    """The ledger of one worker for one job, open for as long as the worker lives."""

    def __init__(self, job: str, worker: str) -> None:
        places = ledgers_of(job)
        self.directory = f"{places}/{worker}"
        for each in (os.path.dirname(places), places, self.directory):
            make_directory(each, StateUnavailable)
        self._lock = os.open(
            f"{self.directory}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        # A lock of the process, not of the descriptor: what it starts does not hold it.
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        with open(f"{self.directory}/{_BOOT}", "w", encoding="ascii") as file:
            file.write(boot_id())

    def begin(self, number: int) -> None:
        """Marks an item; Fenced where somebody is taking stock, so that nothing begins behind."""
        # An end of an earlier try goes first, so that nobody takes it for that of this one.
        self.forget((number,))
        with _Mark(f"{self.directory}/{number}{_BEGUN}"):
            if os.path.exists(f"{self.directory}/{_FENCE}"):
                raise Fenced("this worker was given up")

    def end(self, number: int, delivery: Delivery) -> None:
        """Stores how an item ended; it is there whole, or not at all."""
        place = f"{self.directory}/{number}"
        with open(f"{place}.new", "wb") as file:
            pickle.dump(delivery, file, protocol=pickle.HIGHEST_PROTOCOL)
        os.replace(f"{place}.new", f"{place}{_ENDED}")
        with suppress(FileNotFoundError):
            os.unlink(f"{place}{_BEGUN}")

    def forget(self, numbers: Iterable[int]) -> None:
        """Lets ends go that the driver has on its own disk."""
        for number in numbers:
            with suppress(FileNotFoundError):
                os.unlink(f"{self.directory}/{number}{_ENDED}")

    def close(self) -> None:
        """Removes the ledger, unless something is in it that did not arrive."""
        os.close(self._lock)
        if any(name.endswith((_BEGUN, _ENDED)) for name in os.listdir(self.directory)):
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        with suppress(OSError):
            os.rmdir(os.path.dirname(self.directory))


class _Mark:
    """The mark of an item, taken back where it may not begin after all."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            os.unlink(self._path)


def workers_of(job: str) -> tuple[str, ...]:
    """The workers whose ledgers of a job lie on this node."""
    try:
        return tuple(sorted(os.listdir(ledgers_of(job))))
    except FileNotFoundError:
        return ()


def recall(job: str, worker: str, patience: float = _PATIENCE) -> Recalled:
    """What the ledger of a worker says; from now on that worker begins nothing more.

    Attack on our own honesty: the worker is not dead, only slow, and begins an item behind our
    back. So the fence comes first, and then the lock, which is free when its process is gone.
    """
    directory = f"{ledgers_of(job)}/{worker}"
    try:
        with open(f"{directory}/{_FENCE}", "w", encoding="ascii"):
            pass
        lock = os.open(f"{directory}/{_LOCK}", os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return Recalled(whole=False, ended={})
    try:
        closed = _locked(lock, patience)
        # What is read while a worker lives may be half of the truth: only ends count then.
        ended = dict(_ends(directory))
        begun = frozenset(_numbers(directory, _BEGUN)) - set(ended)
        with open(f"{directory}/{_BOOT}", encoding="ascii") as file:
            same = file.read() == boot_id()
        return Recalled(whole=closed and same, ended=ended, begun=begun)
    except FileNotFoundError:
        return Recalled(whole=False, ended={})
    finally:
        os.close(lock)


def dismiss(job: str, worker: str) -> None:
    """Removes the ledger of a worker that is gone: the driver has everything in it."""
    directory = ledgers_of(job)
    shutil.rmtree(f"{directory}/{worker}", ignore_errors=True)
    with suppress(OSError):
        os.rmdir(directory)


def remove_old() -> None:
    """Lets go of what drivers left here that never came back for it."""
    root = f"{own_directories.made_state()}/fleet"
    with suppress(FileNotFoundError):
        for entry in os.scandir(root):
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < time.time() - _OLD:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _locked(lock: int, patience: float) -> bool:
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        else:
            return True


def _numbers(directory: str, suffix: str) -> Iterator[int]:
    for name in os.listdir(directory):
        if name.endswith(suffix):
            yield int(name.removesuffix(suffix))


def _ends(directory: str) -> Iterator[tuple[int, Delivery]]:
    for number in _numbers(directory, _ENDED):
        with open(f"{directory}/{number}{_ENDED}", "rb") as file:
            # Written by a worker of ours into a directory that is ours alone, and in no sandbox.
            delivery = pickle.load(file)  # noqa: S301
        if isinstance(delivery, Delivery):
            yield number, delivery
