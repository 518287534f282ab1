"""The write-ahead journal of one apply: what will be moved where, on disk before the first move.

A journal is a list of steps that each can be done, taken back, and asked whether it is done. So
one list serves to apply, to undo, to apply again, and to bring a killed process's work to an end.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from redoma.model.enums import Enum
from redoma.model.errors import ChangeError
from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
LARGEST = 1 << 28


class Kind(Enum):
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


class Step(Value):
    """One move. The slot is a path below the layer's directory, where nobody else moves things."""

    kind: Kind
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
    mtime_ns: int = -1  # less than nothing: whatever it comes to be
    # None: not ours to touch.
    xattrs: tuple[tuple[str, bytes], ...] | None = None


class Directory(Value):
    """A directory that steps work in: opened to its owner for that, then as it should be."""

    path: str
    before: Attributes | None = None
    after: Attributes | None = None
    # The same directory in the layer, or where the directory itself moves to or from.
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
    steps: tuple[Step, ...] = ()
    directories: tuple[Directory, ...] = ()
    placed: tuple[Mark, ...] = ()
    # Directories that came whole, or were made: nothing may be in them but what was placed.
    trees: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # of the changes applied
    # The directory in the workspace where slots are worked on; empty: where they lie.
    staging: str = ""
    size: int = 0  # bytes that are kept for an undo


def to_text(journal: Journal) -> str:
    """The journal as JSON; undecodable names keep their bytes."""
    content = fields_of(journal)
    content["steps"] = [_row(step) for step in journal.steps]
    content["directories"] = [_row(directory) for directory in journal.directories]
    content["placed"] = [_row(mark) for mark in journal.placed]
    return json.dumps({"version": VERSION, **content})


def from_text(text: str) -> Journal:
    """The journal again."""
    content = json.loads(text)
    if content.pop("version") != VERSION:
        raise ValueError("a journal of another version")
    content["steps"] = tuple(
        Step(**{**_named(Step, row), "kind": Kind(row[0])}) for row in content["steps"]
    )
    content["directories"] = tuple(_directory(row) for row in content["directories"])
    content["placed"] = tuple(Mark(**_named(Mark, row)) for row in content["placed"])
    for name in ("root", "trees", "paths"):
        content[name] = tuple(content[name])
    return Journal(**content)


def _directory(row: list[Any]) -> Directory:
    fields = _named(Directory, row)
    for name in ("before", "after"):
        if fields[name] is not None:
            inner = _named(Attributes, fields[name])
            if inner["xattrs"] is not None:
                inner["xattrs"] = tuple((key, bytes.fromhex(v)) for key, v in inner["xattrs"])
            fields[name] = Attributes(**inner)
    return Directory(**fields)


def _named(kind: type[Value], row: list[Any]) -> dict[str, Any]:
    return dict(zip(kind._fields, row, strict=True))


def _row(value: Value) -> list[Any]:
    return [_plain(field) for field in value._content()]


def _plain(field: object) -> Any:
    if isinstance(field, Value):
        return _row(field)
    if isinstance(field, Enum):
        return field.value
    if isinstance(field, tuple):
        return [_plain(inner) for inner in field]
    return field.hex() if isinstance(field, bytes) else field


class Book:
    """The files of one transaction's journals, in a directory that is ours alone."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.name = os.path.basename(directory)  # the transaction's

    def write(self, journal: Journal, phase: Phase) -> None:
        """The journal is on disk before this returns."""
        write_durably(f"{self.directory}/apply-{journal.number}.json", to_text(journal))
        self.mark(journal.number, phase)

    def mark(self, number: int, phase: Phase) -> None:
        """Notes how far it has come, durably; a crash leaves the old word or the new one."""
        write_durably(f"{self.directory}/apply-{number}.phase", phase.value)

    def drop(self, number: int) -> None:
        """Forgets an apply that was taken back before it was done; the phase goes first."""
        for ending in ("phase", "json"):
            with suppress(FileNotFoundError):
                os.unlink(f"{self.directory}/apply-{number}.{ending}")

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
                return from_text(file.read())
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ChangeError(
                f"the journal of this apply cannot be read ({error})",
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


def write_durably(path: str, text: str) -> None:
    """The whole text is at `path` and on disk, or what was there before still is."""
    fd = os.open(f"{path}.new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.rename(f"{path}.new", path)
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
