"""Remembers on disk which runs are going on, so that the next start finishes a killed one's work.

The supervisor looks at a run's protected paths when it has ended. If it is killed before that, the
sandbox dies with it, but what the command had planted is still there: the next start finds the
entry, and moves that into quarantine.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count

from redoma.base import own_directories
from redoma.base.identity import identity, is_running
from redoma.model.grant import NOBODYS_UID
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.result import Quarantined

# Begins the word on a command line by which a process says whose word it waits for.
MARK = "redoma-waits-for-"
_IDLE, _GOING = b"-", b"+"
_numbers = count(1)


class ProtectedState(Value):
    """What was protected below one directory when a run began."""

    root: str
    known: dict[str, int] = {}  # noqa: RUF012 — never written to
    repositories: dict[str, int] = {}  # noqa: RUF012
    links: dict[str, str] = {}  # noqa: RUF012
    # What git would obey, or would be ours, though nothing was there.
    awaited: list[str] = []  # noqa: RUF012
    # What someone allowed to be written by name, and names that a policy protects.
    allowed: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class RunEntry:
    """What was protected when a run began; one file, used again while nothing of that changes."""

    def __init__(self) -> None:
        self._path = ""
        self._fd = -1
        self._content = b""

    def begin(self, states: list[ProtectedState] | None) -> None:
        """A run is going on from here; None where nobody has to know of it."""
        if states is None:
            return
        content = _content(states)
        if content != self._content or self._fd < 0:
            self.close()
            pid = os.getpid()
            self._path = f"{_made_directory()}/{identity(pid)}-{next(_numbers)}"
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
    return f"{MARK}{namespace()}-{identity(pid)}"


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


def _content(states: list[ProtectedState]) -> bytes:
    lines = []
    for one in states:
        lines.append(f"root\0{one.root}")
        lines += [f"known\0{inode}\0{path}" for path, inode in one.known.items()]
        lines += [f"repository\0{inode}\0{path}" for path, inode in one.repositories.items()]
        lines += [f"link\0{target}\0{path}" for path, target in one.links.items()]
        lines += [f"awaited\0\0{path}" for path in one.awaited]
        lines += [f"allowed\0\0{path}" for path in one.allowed]
        lines += [f"name\0\0{name}" for name in one.names]
    return "\n\0".join(lines).encode(errors="surrogateescape")


def finish_others() -> tuple[Quarantined, ...]:
    """Settles runs whose supervisor is gone."""
    taken: list[Quarantined] = []
    directory = _directory()
    gone = [name for name in _entries() if not is_running(name)]
    if gone:
        kill_orphaned_waiters()
    for name in gone:
        with suppress(OSError, ValueError):
            taken += _settle(f"{directory}/{name}")
        with suppress(OSError):
            os.unlink(f"{directory}/{name}")
    return tuple(taken)


def _directory() -> str:
    return f"{own_directories.state()}/runs"


def _made_directory() -> str:
    path = f"{own_directories.made_state()}/runs"
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
        if not name.startswith(own) and is_running(name):
            with suppress(OSError, ValueError):
                found += [
                    (record.known, record.repositories)
                    for record in _records(f"{_directory()}/{name}")
                    if record.root == root
                ]
    return found


def _records(path: str) -> list[ProtectedState]:
    """An entry's content; nothing where no run was going on."""
    with open(path, "rb") as file:
        if file.read(1) != _GOING:
            return []
        text = file.read().decode(errors="surrogateescape")
    found: list[tuple[str, dict[str, dict[str, str]]]] = []
    for line in text.split("\n\0") if text else ():
        kind, _, rest = line.partition("\0")
        if kind == "root":
            found.append((rest, {}))
        else:
            value, _, name = rest.partition("\0")
            found[-1][1].setdefault(kind, {})[name] = value
    return [
        ProtectedState(
            root=root,
            known={path: int(inode) for path, inode in rows.get("known", {}).items()},
            repositories={path: int(inode) for path, inode in rows.get("repository", {}).items()},
            links=rows.get("link", {}),
            awaited=list(rows.get("awaited", ())),
            allowed=tuple(rows.get("allowed", ())),
            names=tuple(rows.get("name", ())),
        )
        for root, rows in found
    ]


def _settle(path: str) -> list[Quarantined]:
    from redoma.jail.protect.quarantine import Sweep, quarantine_directory
    from redoma.jail.protect.survey import Survey

    taken: list[Quarantined] = []
    for state in _records(path):
        survey = Survey(state.root, more=state.names)
        survey.look()
        taken += Sweep(survey, state, keep_in=quarantine_directory("-after-a-crash")).run()
    return taken


def kill_orphaned_waiters() -> None:
    """Kills every process that waits for a supervisor of this machine which is gone.

    Bubblewrap's first process is told when to begin, and dies with whoever started it only from
    then on. Killed before, we can tell it nothing: it never begins, but it stays. Its command line
    names us, so that the next start knows whose it is and that nobody will come any more.
    """
    from redoma.base import signals

    for name in os.listdir("/proc"):
        if name.isdigit() and _is_orphaned_waiter(name):
            with suppress(OSError):
                process = os.pidfd_open(int(name))
                try:
                    # Attack: the number is another's by now; so the process of this descriptor
                    # is looked at once more, and it alone is signalled.
                    if _is_orphaned_waiter(name):
                        signals.send(process, signals.SIGKILL)
                finally:
                    os.close(process)


def _is_orphaned_waiter(name: str) -> bool:
    try:
        with open(f"/proc/{name}/cmdline", "rb") as file:
            words = file.read(4096).decode(errors="replace").split("\0")
        mark = next((word for word in words if word.startswith(MARK)), "")
        if not mark:
            return False
        with open(f"/proc/{name}/status") as file:
            uid = next(line.split()[1] for line in file if line.startswith("Uid:"))
    except (OSError, StopIteration):
        return False
    where, _, maker = mark.removeprefix(MARK).partition("-")
    # In another namespace of processes our numbers name others: what waits there is left alone.
    ours = where == namespace() and int(uid) in (os.geteuid(), NOBODYS_UID)
    return ours and not is_running(maker)
