"""What is remembered of each transaction: its changes, its journals, and where it stands.

All of it lies in a directory of ours (`changes/ID` in the state directory), never in the overlay: a
overlay belongs to the owner of its workspace, who is not always the one who applies it.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from redoma.base import own_directories, private_file
from redoma.jail.overlay.journal import LARGEST, Phase, Window
from redoma.jail.overlay.spool import CHANGES, Spool, change_of, change_row, stored
from redoma.jail.protect.untrusted_paths import size_of
from redoma.model.change import Changes, Did, HistoryEntry, Standing
from redoma.model.errors import PreviewGone, UsageError
from redoma.model.message import Message
from redoma.model.value import Value, fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from redoma.jail.overlay.journal import JournalFiles
    from redoma.jail.overlay.store import Overlay

VERSION = 1
_LARGEST_ENTRY = 1 << 20
MOST_WINDOWS = 8
_SLACK = 20_000_000


class StoredTransaction(Value):
    """A transaction's line in the history, and what only we need to know of it."""

    shown: HistoryEntry
    root: tuple[int, int]  # device and inode of the workspace
    began_ns: int
    # When its changes had been read: what is there now is compared with how it was then.
    ended_ns: int = 0
    windows: tuple[Window, ...] = ()
    active: float = 0.0  # when it was last applied or undone

    @property
    def id(self) -> str:
        return self.shown.id

    def worked(self, *windows: Window) -> StoredTransaction:
        """The same entry, and when it moved things; a file has the time of its last move only."""
        return replace(self, windows=(*self.windows, *windows)[-MOST_WINDOWS:])

    def standing(self, standing: Standing, *, why: str = "") -> StoredTransaction:
        """The same entry, standing so from now on."""
        return replace(self, shown=replace(self.shown, standing=standing, why=why))


def root() -> str:
    """The directory of all transactions; whoever looks does not make it."""
    return f"{own_directories.state()}/changes"


def made_root() -> str:
    """The same, and it is there."""
    own_directories.made_state()
    path = root()
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    return path


def directory(name: str) -> str:
    """The directory of one transaction.

    Attack: a name with `..` in it would lead to files of someone else's making.
    """
    if not name.isascii() or not name.isalnum():
        raise UsageError("{name} is no transaction's name", name=repr(name), hint="redoma history")
    return f"{root()}/{name}"


def store_changes(
    overlay: Overlay, changes: Changes, *, command: str = "", asks: tuple[str, ...] = ()
) -> StoredTransaction:
    """Remembers what a run changed, so that it can be applied later, by another process too."""
    status = os.stat(changes.workspace)
    entry = StoredTransaction(
        shown=HistoryEntry(
            id=changes.id,
            when=time.time(),
            command=command,
            asks=asks,
            workspace=changes.workspace,
            standing=Standing.HELD,
            size=pending_size(overlay, changes),
            **_counts(changes),
        ),
        root=(status.st_dev, status.st_ino),
        began_ns=_began(overlay, changes),
        ended_ns=time.time_ns(),
    )
    made_root()
    where = directory(changes.id)
    with suppress(FileExistsError):
        os.mkdir(where, 0o700)
    _write_changes(changes)
    write_entry(entry)
    return entry


def _counts(changes: Changes) -> dict[str, Any]:
    """How many paths were created, modified, deleted, renamed or got other attributes."""
    counts = dict.fromkeys((did.value for did in Did), 0)
    for item in changes.items:
        counts[item.did.value] += 1
    return counts


def _write_changes(changes: Changes) -> None:
    where = directory(changes.id)
    plain = _changes_content(changes, f"{where}/changes.rows")
    private_file.write(f"{where}/changes.json", json.dumps({"version": VERSION, **plain}))


def _began(overlay: Overlay, changes: Changes) -> int:
    """From when on someone else's change was not seen: a copy is made before the command begins."""
    if not overlay.is_copy:
        return changes.began_ns
    return min(changes.began_ns, os.stat(overlay.directory).st_mtime_ns)


def pending_size(overlay: Overlay, changes: Changes) -> int:
    """How many bytes a transaction takes while nothing of it is applied."""
    if overlay.is_copy:
        return size_of(overlay.directory)
    return sum(item.after.size for item in changes.items if item.after is not None)


def with_size(entry: StoredTransaction, book: JournalFiles) -> StoredTransaction:
    """The entry with its size on disk now: what it replaced, or what is still pending."""
    applied = [number for number in book.numbers() if book.phase(number) is Phase.APPLIED]
    size = 0
    if applied and entry.shown.standing is not Standing.FINAL:
        size = sum(book.read(number).size for number in applied)
    elif not applied:
        size = pending_size(overlay_of(entry.id, entry), load(entry.id))
    return replace(entry, shown=replace(entry.shown, size=size))


def set_asks(name: str, asks: tuple[str, ...]) -> None:
    """Remembers why a person has to agree before it is applied."""
    entry = read_entry(name)
    write_entry(replace(entry, shown=replace(entry.shown, asks=asks)))


def load(name: str) -> Changes:
    """The changes of a transaction that can still be applied or undone."""
    entry = read_entry(name)
    where = directory(name)
    try:
        changes = _changes_of(_read_file(f"{where}/changes.json", LARGEST), f"{where}/changes.rows")
    except FileNotFoundError:
        said = entry.shown.standing.value
        raise PreviewGone(
            "{id} is {standing}: its changes are gone",
            id=name,
            standing=Message(said),
            hint="redoma history",
        ) from None
    return _read_now(entry, changes) if changes.unread else changes


def _read_now(entry: StoredTransaction, unread: Changes) -> Changes:
    """What a run changed past its limits, read when a person asks for it."""
    from redoma.jail.overlay.changes import read_changes

    changes = read_changes(overlay_of(unread.id, entry))
    _write_changes(changes)
    write_entry(replace(entry, shown=replace(entry.shown, **_counts(changes))))
    return changes


def overlay_of(name: str, entry: StoredTransaction) -> Overlay:
    """The overlay that a transaction's changes lie in; PreviewGone where it is no more."""
    from redoma.jail.overlay import store

    overlay = store.find_overlay(name)
    if overlay is None or not os.path.isdir(overlay.directory):
        said = entry.shown.standing.value
        raise PreviewGone(
            "{id} is {standing}: its overlay is gone",
            id=name,
            standing=Message(said),
            hint="redoma history",
        )
    return overlay


def read_entry(name: str) -> StoredTransaction:
    """The entry of a transaction; PreviewGone where there is none."""
    try:
        return _transaction_of(_read_file(f"{directory(name)}/entry.json", _LARGEST_ENTRY))
    except (OSError, ValueError, TypeError, KeyError):
        raise PreviewGone("there is no transaction {id}", id=name, hint="redoma history") from None


def write_entry(entry: StoredTransaction, *, durably: bool = False) -> None:
    """The entry as it is from now on."""
    content = fields_of(entry)
    content["shown"] = {**fields_of(entry.shown), "standing": entry.shown.standing.value}
    content["windows"] = [[w.start, w.end, w.copied] for w in entry.windows]
    text = json.dumps({"version": VERSION, **content})
    path = f"{directory(entry.id)}/entry.json"
    if durably:
        private_file.write(path, text, durable=True)
    else:
        private_file.write(path, text)


def entries() -> list[StoredTransaction]:
    """Every transaction that is remembered, the newest first."""
    found = []
    try:
        names = os.listdir(root())
    except FileNotFoundError:
        return []  # there never was a transaction
    for name in names:
        if name.isalnum():
            with suppress(PreviewGone):
                found.append(read_entry(name))
    return sorted(found, key=lambda entry: (entry.shown.when, entry.id), reverse=True)


def windows_of(entry: StoredTransaction) -> Iterator[Window]:
    """The times in which we ourselves moved things in a transaction's workspace, or around it."""
    yield from entry.windows
    for other in entries():
        if other.id != entry.id and overlap(entry, other):
            yield from other.windows


def overlap(one: StoredTransaction, other: StoredTransaction) -> bool:
    """Whether the workspaces of two transactions are the same, or one lies in the other."""
    first, second = f"{one.shown.workspace}/", f"{other.shown.workspace}/"
    return one.root == other.root or first.startswith(second) or second.startswith(first)


def entries_since(moment: int) -> list[StoredTransaction]:
    """The transactions that were applied or undone since then, or may have been."""
    found = []
    place = root()
    for name in os.listdir(place):
        if name.isalnum():
            with suppress(OSError, PreviewGone):
                written = os.stat(f"{place}/{name}/entry.json").st_mtime_ns
                if written + _SLACK >= moment:
                    found.append(read_entry(name))
    return found


def forget(name: str) -> None:
    """Removes the files of a transaction but for its line in the history."""
    where = directory(name)
    for file in os.listdir(where):
        if file != "entry.json":
            os.unlink(f"{where}/{file}")


def forget_entry(name: str) -> None:
    """Removes the line in the history too."""
    forget(name)
    os.unlink(f"{directory(name)}/entry.json")
    os.rmdir(directory(name))


def resolve(prefix: str) -> str:
    """The one transaction whose name begins so; an error names the others."""
    if prefix and os.path.isdir(directory(prefix)):
        return prefix
    found = sorted(name for name in os.listdir(root()) if name.startswith(prefix) and prefix)
    if len(found) == 1:
        return found[0]
    if not found:
        raise PreviewGone("there is no transaction {id}", id=prefix, hint="redoma history")
    raise UsageError(
        "{start} is the beginning of several: {names}", start=prefix, names=", ".join(found[:10])
    )


def _read_file(path: str, largest: int) -> dict[str, Any]:
    if os.stat(path).st_size > largest:
        raise ValueError(Message("{path} is larger than anything we write", path=path))
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    if not isinstance(content, dict) or content.pop("version", None) != VERSION:
        raise ValueError(Message("{path} is of another version", path=path))
    return content


def _transaction_of(content: dict[str, Any]) -> StoredTransaction:
    shown = content["shown"]
    asks = tuple(shown.get("asks", ()))
    standing = Standing(shown["standing"])
    content["shown"] = HistoryEntry(**{**shown, "standing": standing, "asks": asks})
    content["root"] = tuple(content["root"])
    content["windows"] = tuple(
        Window(start=start, end=end, copied=copied) for start, end, copied in content["windows"]
    )
    return StoredTransaction(**content)


def _changes_content(changes: Changes, rows: str) -> dict[str, Any]:
    """Changes as JSON can say them; many of them lie in a file of their own."""
    content = fields_of(changes)
    if isinstance(changes.items, Spool):
        fd = os.open(f"{rows}.new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            content["items"] = changes.items.store(fd)
        finally:
            os.close(fd)
        os.rename(f"{rows}.new", rows)
    else:
        content["items"] = [change_row(item) for item in changes.items]
    return content


def _changes_of(content: dict[str, Any], rows: str) -> Changes:
    items = content["items"]
    if isinstance(items, dict):
        content["items"] = stored(CHANGES, rows, items)
    else:
        content["items"] = tuple(change_of(row) for row in items)
    content["warnings"] = tuple(content["warnings"])
    return Changes(**content)
