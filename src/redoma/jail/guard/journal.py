"""Remembers on disk which runs are going on, so that a killed supervisor's work is finished.

A run's protected paths are looked at when it has ended. If the supervisor is killed before that,
the enclosure dies with it, but what the command had made is still there: the next start finds the
entry, and takes it away.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count

from redoma.jail import places
from redoma.jail.kernel.cgroups import maker_lives, started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.shield import Raised
    from redoma.model.result import HeldBack

# Begins the word on a command line by which a process says whose word it waits for.
MARK = "redoma-waits-for-"
_IDLE, _GOING = b"-", b"+"
_numbers = count(1)


class Entry:
    """What was protected when a run began; one file, used again while nothing of that changes."""

    def __init__(self) -> None:
        self._path = ""
        self._fd = -1
        self._content = b""

    def begin(self, raised: list[Raised] | None) -> None:
        """A run is going on from here; None where nobody has to know of it."""
        if raised is None:
            return
        content = _content(raised)
        if content != self._content or self._fd < 0:
            self.close()
            pid = os.getpid()
            self._path = f"{_made_directory()}/{pid}-{started(pid)}-{next(_numbers)}"
            self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            os.write(self._fd, _GOING + content)
            self._content = content
        else:
            os.pwrite(self._fd, _GOING, 0)

    def end(self) -> None:
        """The run is settled."""
        if self._fd >= 0:
            os.pwrite(self._fd, _IDLE, 0)

    def close(self) -> None:
        """Nothing more will run under this entry."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            with suppress(OSError):
                os.unlink(self._path)


def mark() -> str:
    """A word that names this process, and no other before or after it."""
    pid = os.getpid()
    return f"{MARK}{namespace()}-{pid}-{started(pid)}"


def namespace() -> str:
    """What the numbers of processes here mean something in."""
    return str(os.stat("/proc/self/ns/pid").st_ino)


def without_end(reads: int) -> int:
    """The same end of a pipe, which writes as well and so never comes to its end.

    Attack: bubblewrap takes the end of what it waits on for the word to begin. We are killed while
    the start of a run is written down, and the command runs without a record and without us.
    """
    try:
        return os.open(f"/proc/self/fd/{reads}", os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.close(reads)


def _content(raised: list[Raised]) -> bytes:
    lines = []
    for one in raised:
        lines.append(f"root\0{one.shield.root}")
        lines += [f"known\0{inode}\0{path}" for path, inode in one.known.items()]
        lines += [f"repository\0{inode}\0{path}" for path, inode in one.repositories.items()]
        lines += [f"link\0{target}\0{path}" for path, target in one.links.items()]
        lines += [f"awaited\0\0{path}" for path in one.awaited]
        lines += [f"allowed\0\0{path}" for path in one.shield.allowed]
        lines += [f"name\0\0{name}" for name in one.shield.names]
    return "\n\0".join(lines).encode(errors="surrogateescape")


def finish_others() -> tuple[HeldBack, ...]:
    """Settles runs whose supervisor is gone."""
    taken: list[HeldBack] = []
    directory = _directory()
    gone = [name for name in _entries() if not maker_lives(name)]
    if gone:
        from redoma.jail.guard.waiting import end_left_behind

        end_left_behind()
    for name in gone:
        with suppress(OSError, ValueError):
            taken += _settle(f"{directory}/{name}")
        with suppress(OSError):
            os.unlink(f"{directory}/{name}")
    return tuple(taken)


def _directory() -> str:
    return f"{places.state()}/runs"


def _made_directory() -> str:
    path = f"{places.made_state()}/runs"
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    return path


def _entries() -> list[str]:
    try:
        return os.listdir(_directory())
    except FileNotFoundError:
        return []  # nothing ever ran


def others_at(root: str) -> list[tuple[dict[str, int], dict[str, int]]]:
    """What other supervisors that are at work in the same directory found there when they began."""
    own = f"{os.getpid()}-"
    found = []
    for name in _entries():
        if not name.startswith(own) and maker_lives(name):
            with suppress(OSError, ValueError):
                found += [
                    (record.known, record.repositories)
                    for record in _records(f"{_directory()}/{name}")
                    if record.root == root
                ]
    return found


class _Record:
    """What an entry says of one directory."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.known: dict[str, int] = {}
        self.repositories: dict[str, int] = {}
        self.links: dict[str, str] = {}
        self.awaited: list[str] = []
        self.allowed: list[str] = []
        self.names: list[str] = []


def _records(path: str) -> list[_Record]:
    """An entry's content; nothing where no run was going on."""
    with open(path, "rb") as file:
        if file.read(1) != _GOING:
            return []
        text = file.read().decode(errors="surrogateescape")
    found: list[_Record] = []
    for line in text.split("\n\0") if text else ():
        kind, _, rest = line.partition("\0")
        if kind == "root":
            found.append(_Record(rest))
            continue
        record = found[-1]
        value, _, name = rest.partition("\0")
        if kind == "known":
            record.known[name] = int(value)
        elif kind == "repository":
            record.repositories[name] = int(value)
        elif kind == "link":
            record.links[name] = value
        elif kind == "awaited":
            record.awaited.append(name)
        elif kind == "allowed":
            record.allowed.append(name)
        elif kind == "name":
            record.names.append(name)
    return found


def _settle(path: str) -> list[HeldBack]:
    from redoma.jail.guard import held_back
    from redoma.jail.guard.survey import Survey
    from redoma.jail.guard.sweep import Sweep

    taken: list[HeldBack] = []
    for record in _records(path):
        survey = Survey(record.root, more=tuple(record.names))
        survey.look()
        taken += Sweep(
            survey,
            known=record.known,
            repositories=record.repositories,
            links=record.links,
            awaited=record.awaited,
            keep_in=held_back.place("-after-a-crash"),
            allowed=tuple(record.allowed),
        ).run()
    return taken
