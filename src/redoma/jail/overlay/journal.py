"""The write-ahead journal of one apply: what will be moved where, on disk before the first move.

A journal is a list of steps that each can be done, taken back, and asked whether it is done. So
one list serves to apply, to undo, to apply again, and to bring a killed process's work to an end.
"""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import suppress
from enum import Enum

from redoma.base import private_file
from redoma.jail.overlay.spool import Form, Spool, made, stored
from redoma.model.errors import ChangeError
from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from redoma.model.change import FileState

VERSION = 2
_OLD = 1  # in which a time of -1 was no time
LARGEST = 1 << 28
_ROWS = ".rows"


class StepKind(Enum):
    """What a step does; each is one call to the kernel."""

    PUT = "put"  # from its slot into the workspace
    TAKE = "take"  # out of the workspace into its slot
    SWAP = "swap"  # the two for each other
    MAKE = "make"  # an empty directory
    REMOVE = "remove"  # an empty directory


class Phase(Enum):
    """How far an apply has come; the two that go on are found only after a crash."""

    APPLYING = "applying"
    APPLIED = "applied"
    UNDOING = "undoing"
    UNDONE = "undone"


class JournalStep(Value):
    """One move; its slot is a path below the overlay's directory, where only we move things."""

    kind: StepKind
    path: str
    slot: str = ""
    leaves: int = 0  # the inode that leaves the workspace; 0 is any
    comes: int = 0  # the inode that comes from the slot; 0 is any
    # The path in the workspace of which the slot becomes a second name, before the first step.
    link_of: str = ""


class Attributes(Value):
    """What a directory has beside its entries."""

    mode: int
    uid: int
    gid: int
    mtime_ns: int | None = None  # None: whatever it comes to be
    # None: not ours to touch.
    xattrs: tuple[tuple[str, bytes], ...] | None = None


def attributes_now(status: os.stat_result) -> Attributes:
    """What a directory has at this moment."""
    return Attributes(
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        mtime_ns=status.st_mtime_ns,
    )


def attributes_after(state: FileState) -> Attributes:
    """What a directory should have, as a command left it."""
    return Attributes(
        mode=state.mode,
        uid=state.uid,
        gid=state.gid,
        mtime_ns=state.mtime_ns,
        xattrs=state.xattrs,
    )


class TouchedDirectory(Value):
    """A directory that steps work in: opened to its owner for that, then as it should be."""

    path: str
    before: Attributes | None = None
    after: Attributes | None = None
    # The same directory in the overlay, or where the directory itself moves to or from.
    slot: str = ""
    # Whether a command changed its attributes on purpose, or only its entries.
    meant: bool = False


class Mark(Value):
    """What an applied path looked like; enough to see later whether someone changed it."""

    path: str
    mode: int  # with the kind
    uid: int
    gid: int
    size: int = 0
    mtime_ns: int = 0
    # Just before the apply: what came inside a directory has it still.
    ctime_ns: int = 0
    inode: int = 0


class Window(Value):
    """A time in which we ourselves moved things in a workspace, by its file system's clock.

    A rename sets a file's change time. One that lies in such a window tells of our own move; the
    rest of the file's state says whether it is still the same.
    """

    start: int
    end: int
    # Whether files were copied back: then they have new numbers too.
    copied: bool = False

    def holds(self, moment: int) -> bool:
        return self.start <= moment <= self.end


class Journal(Value):
    """One apply of a transaction, whole."""

    number: int
    workspace: str
    root: tuple[int, int]  # device and inode of the workspace itself
    steps: Sequence[JournalStep] = ()
    directories: Sequence[TouchedDirectory] = ()
    placed: Sequence[Mark] = ()  # in the order of the tree
    # Directories that came whole, or were made: nothing may be in them but what was placed.
    trees: Sequence[str] = ()
    paths: Sequence[str] = ()  # of the changes applied
    # The directory in the workspace where slots are worked on; empty: where they lie.
    staging: str = ""
    size: int = 0  # bytes that an undo needs
    undoable: bool = True  # whether the overlay keeps them


def to_text(journal: Journal, rows: int = -1) -> str:
    """The journal as JSON; undecodable names keep their bytes.

    What is long lies in the file `rows`, and the text says where.
    """
    content = fields_of(journal)
    for name, form in FORMS.items():
        long = content[name]
        if isinstance(long, Spool) and rows >= 0:
            content[name] = long.store(rows)
        else:
            content[name] = [form.row(value) for value in long]
    return json.dumps({"version": VERSION, **content})


def from_text(text: str, directory: str = "") -> Journal:
    """The journal again; what is long is read from the directory that it lies in."""
    content = json.loads(text)
    rows = f"{directory}/{os.path.basename(content.pop('rows', ''))}"
    version = content.pop("version")
    if version == _OLD:
        return _from_old(content)
    if version != VERSION:
        raise ValueError("a journal of another version")
    for name, form in FORMS.items():
        where = content[name]
        if isinstance(where, dict):
            content[name] = stored(form, rows, where)
        else:
            content[name] = tuple(form.value(path, rest) for path, rest in where)
    content["root"] = tuple(content["root"])
    return Journal(**content)


def _from_old(content: dict[str, Any]) -> Journal:
    content["steps"] = tuple(
        JournalStep(**{**_named(JournalStep, row), "kind": StepKind(row[0])})
        for row in content["steps"]
    )
    content["directories"] = tuple(_directory(row, no_time=-1) for row in content["directories"])
    content["placed"] = tuple(Mark(**_named(Mark, row)) for row in content["placed"])
    for name in ("root", "trees", "paths"):
        content[name] = tuple(content[name])
    return Journal(**content)


def _directory(row: list[Any], *, no_time: int | None = None) -> TouchedDirectory:
    fields = _named(TouchedDirectory, row)
    for name in ("before", "after"):
        if fields[name] is not None:
            inner = _named(Attributes, fields[name])
            if inner["mtime_ns"] == no_time:
                inner["mtime_ns"] = None
            if inner["xattrs"] is not None:
                inner["xattrs"] = tuple((key, bytes.fromhex(v)) for key, v in inner["xattrs"])
            fields[name] = Attributes(**inner)
    return TouchedDirectory(**fields)


def _named(kind: type[Value], row: list[Any]) -> dict[str, Any]:
    return dict(zip(kind._fields, row, strict=True))


def _row(value: Value) -> list[Any]:
    return [_plain_field(field) for field in value._content()]


def _plain_field(field: object) -> Any:
    if isinstance(field, Value):
        return _row(field)
    if isinstance(field, Enum):
        return field.value
    if isinstance(field, tuple):
        return [_plain_field(inner) for inner in field]
    return field.hex() if isinstance(field, bytes) else field


_BESIDE = "upper/"


def _beside(slot: str, path: str) -> str | None:
    """A slot, or None where it is the overlay's own place for a path: that is not said twice."""
    return None if slot == _BESIDE + path else slot


def _step_row(step: JournalStep) -> tuple[str, list[Any]]:
    slot = _beside(step.slot, step.path)
    return step.path, [step.kind.value, slot, step.leaves, step.comes, step.link_of]


def _step(path: str, rest: list[Any]) -> JournalStep:
    kind, slot, leaves, comes, link_of = rest
    where = _BESIDE + path if slot is None else slot
    return made(JournalStep, [_KINDS[kind], path, where, leaves, comes, link_of])


def _directory_row(directory: TouchedDirectory) -> tuple[str, list[Any]]:
    path, *rest = _row(directory)
    rest[2] = _beside(directory.slot, path)
    return path, rest


def _directory_of(path: str, rest: list[Any]) -> TouchedDirectory:
    before, after, slot, meant = rest
    return _directory([path, before, after, _BESIDE + path if slot is None else slot, meant])


_KINDS = {kind.value: kind for kind in StepKind}
FORMS = {
    "steps": Form(_step_row, _step),
    "directories": Form(_directory_row, _directory_of),
    "placed": Form(
        lambda mark: (mark.path, list(mark._content()[1:])),
        lambda path, rest: made(Mark, [path, *rest]),
    ),
    "trees": Form(lambda path: (path, []), lambda path, _: path),
    "paths": Form(lambda path: (path, []), lambda path, _: path),
}


class JournalFiles:
    """The journals of one transaction on disk, in a directory that is ours alone."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.name = os.path.basename(directory)  # the transaction's

    def write(self, journal: Journal, phase: Phase) -> None:
        """The journal is on disk before this returns."""
        rows = ""
        if any(isinstance(getattr(journal, name), Spool) for name in FORMS):
            # Under a name of its own: a crash leaves the old text with the rows that it knows.
            rows = f"apply-{journal.number}-{time.time_ns()}{_ROWS}"
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            fd = os.open(f"{self.directory}/{rows}", flags, 0o600)
            try:
                text = to_text(journal, fd)
                os.fsync(fd)
            finally:
                os.close(fd)
            text = json.dumps({"rows": rows, **json.loads(text)})
        else:
            text = to_text(journal)
        private_file.write(f"{self.directory}/apply-{journal.number}.json", text, durable=True)
        self._drop_rows(journal.number, but=rows)
        self.mark(journal.number, phase)

    def _drop_rows(self, number: int, *, but: str = "") -> None:
        for name in os.listdir(self.directory):
            if name.startswith(f"apply-{number}-") and name.endswith(_ROWS) and name != but:
                with suppress(FileNotFoundError):
                    os.unlink(f"{self.directory}/{name}")

    def mark(self, number: int, phase: Phase) -> None:
        """Notes how far it has come, durably; a crash leaves the old word or the new one."""
        private_file.write(f"{self.directory}/apply-{number}.phase", phase.value, durable=True)

    def drop(self, number: int) -> None:
        """Forgets an apply that was taken back before it was done; the phase goes first."""
        for ending in ("phase", "json"):
            with suppress(FileNotFoundError):
                os.unlink(f"{self.directory}/apply-{number}.{ending}")
        self._drop_rows(number)

    def phase(self, number: int) -> Phase | None:
        """How far an apply came; None where it never began."""
        try:
            with open(f"{self.directory}/apply-{number}.phase", encoding="utf-8") as file:
                return Phase(file.read(32))
        except FileNotFoundError:
            return None

    def read(self, number: int) -> Journal:
        """A journal, whole; one that cannot be read is an error, never a guess."""
        path = f"{self.directory}/apply-{number}.json"
        try:
            if os.stat(path).st_size > LARGEST:
                raise ValueError("larger than any journal")
            with open(path, encoding="utf-8") as file:
                return from_text(file.read(), self.directory)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ChangeError(
                "the journal of this apply cannot be read ({error})",
                error=error,
                hint="what was replaced is still kept; redoma history",
            ) from None

    def numbers(self) -> list[int]:
        """The applies that were begun, oldest first."""
        found = []
        for name in os.listdir(self.directory):
            if name.startswith("apply-") and name.endswith(".phase"):
                found.append(int(name.removeprefix("apply-").removesuffix(".phase")))
        return sorted(found)

    def in_phase(self, phase: Phase) -> int | None:
        """The newest apply that stands so."""
        return next((n for n in reversed(self.numbers()) if self.phase(n) is phase), None)
