"""Applies pending changes to their workspace, all or chosen ones; whole or not at all."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from redoma.base import own_directories
from redoma.base.log import logger
from redoma.jail.overlay import transaction_store
from redoma.jail.overlay.beneath import is_whiteout
from redoma.jail.overlay.conflicts import WorkspaceCheck, others_since
from redoma.jail.overlay.failure import Interruption, conflict_lines
from redoma.jail.overlay.failure import failure_text as told_of
from redoma.jail.overlay.journal import JournalFiles, Phase
from redoma.jail.overlay.journal_run import JournalRun, begin, errors_of, settle_root
from redoma.jail.overlay.locks import settled
from redoma.jail.overlay.planner import Planner
from redoma.jail.overlay.protected_changes import protected
from redoma.jail.overlay.selection import choose, is_directory, was_directory
from redoma.jail.overlay.site import Site
from redoma.jail.overlay.spool import CHANGES, Spooler, found_in
from redoma.jail.overlay.transaction_store import overlay_of
from redoma.jail.overlay.undo import RetentionBounds, remove_stored_overlay
from redoma.jail.protect.survey import GIT_PARTS
from redoma.model.change import Applied, Standing
from redoma.model.errors import ApplyConflict, ChangeError, NoRoomForUndo, PreviewGone
from redoma.model.message import Message
from redoma.model.remedies import Help, Remedy
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from redoma.jail.overlay.failure import Conflict
    from redoma.jail.overlay.journal import Journal
    from redoma.jail.overlay.locks import WorkspaceLock
    from redoma.jail.overlay.store import Overlay
    from redoma.jail.overlay.transaction_store import StoredTransaction
    from redoma.model.change import Change, Changes


log = logger(__name__)


def apply(
    name: str,
    paths: Iterable[str] | None = None,
    *,
    contents: Mapping[str, bytes] | None = None,
    allowed: Iterable[str] = (),
    undo: bool = True,
    names: tuple[str, ...] = (),
) -> Applied:
    """Applies the changes that are still pending, or those of them at or below `paths`.

    `contents` stands in for what the overlay has of a file. What a person's own tools obey stays in
    quarantine, but for `allowed`: absolute paths that a person gave by name. With `undo` the
    overlay keeps what is replaced, or NoRoomForUndo is raised; without it keeps nothing.
    """
    with settled(transaction_store.read_entry(name)) as lock:
        entry = transaction_store.read_entry(name)
        changes = transaction_store.load(name)
        overlay = overlay_of(name, entry)
        book = JournalFiles(transaction_store.directory(name))
        remaining = _remaining(changes, book)
        why = protected(remaining, overlay.upper, tuple(allowed), names)
        remaining = _without_ties(remaining, why)
        choice = choose(remaining, paths, why=why, kept_in=overlay.upper)
        opened = Site(entry.shown.workspace, entry.root, overlay.directory)
        with opened as site, errors_of("the apply"):
            if not choice.items:
                return Applied(id=name, held_back=choice.held_back)
            found = _conflicts(site, entry, choice.items, lock, overlay if paths is None else None)
            _refuse(name, found, len(choice.items))
            number = max(book.numbers(), default=0) + 1
            slots = _written(site, number, remaining, contents or {})
            journal = _planned(site, remaining, choice.items, number, slots)
            if undo and site.copies:
                _room_for(name, journal, site.directory)
            run = JournalRun(site, book, replace(journal, undoable=undo))
            with Interruption():
                _run(site, entry, run, lock)
    if not undo and run.is_settled:
        remove_stored_overlay(name)
    log.info("transaction %s: %d changes applied", name, len(choice.items))
    return Applied(
        id=name,
        changes=choice.items,
        brought=choice.brought,
        held_back=choice.held_back,
        notes=_notes(run, choice.items),
        undoable=undo,
        kept=journal.size if undo else 0,
    )


def _room_for(name: str, journal: Journal, directory: str) -> None:
    """Refuses, before the first move, where the overlay could not keep what leaves the workspace.

    Only what has to be copied takes room. What is renamed lies where it lay.
    """
    found = os.statvfs(directory)
    free, most = found.f_bavail * found.f_frsize, RetentionBounds().bytes
    if journal.size <= min(free, most):
        return
    why = (
        Message("{free} are free in {directory}", free=free, directory=directory)
        if journal.size > free
        else Message("{most} may be kept", most=most)
    )
    raise NoRoomForUndo(
        "what this replaces cannot be kept to undo it: {size} bytes are needed, {why}",
        size=journal.size,
        why=why,
        hint=Remedy(help=Help.NO_UNDO, about=name),
    )


def _conflicts(
    site: Site,
    entry: StoredTransaction,
    items: Sequence[Change],
    lock: WorkspaceLock,
    whole: Overlay | None,
) -> Sequence[Conflict]:
    """What someone else changed since the command began: a person, or another transaction.

    `whole` is the overlay where everything in it is applied, what it removed included.
    """
    ground = WorkspaceCheck(
        site.ground, lambda: transaction_store.windows_of(entry), entry.began_ns, entry.windows
    )
    if lock.moved_since(entry.began_ns):
        ground.check_others(items, others_since(entry), lambda path: _removed(site, path, whole))
    return ground.check(items)


def _removed(site: Site, path: str, overlay: Overlay | None) -> bool:
    """Whether a command removed a path in its overlay that is not in the workspace any more."""
    if overlay is None:
        return False
    try:
        if site.ground.status(path) is not None:
            return False
        status = site.home.status(f"upper/{path}")
    except OSError:
        return False
    if overlay.is_copy:
        return status is None
    return status is not None and is_whiteout(status)


def _remaining(changes: Changes, book: JournalFiles) -> Changes:
    """What is not applied yet, or was taken back."""
    applied: set[str] = set()
    for number in book.numbers():
        if book.phase(number) is Phase.APPLIED:
            applied.update(book.read(number).paths)
    if not applied and changes.items:
        return changes
    left = Spooler(CHANGES, own_directories.made_state())
    left.extend(item for item in changes.items if item.path not in applied)
    items = left.sealed()
    if not items:
        raise PreviewGone(
            "{id} is applied already", id=changes.id, hint=f"redoma undo {changes.id}"
        )
    return replace(changes, items=items)


def _written(
    site: Site, number: int, changes: Changes, contents: Mapping[str, bytes]
) -> dict[str, str]:
    """The slots of contents that a person put together; else each is like the overlay's file."""
    slots: dict[str, str] = {}
    find = found_in(changes.items) if contents else None
    for index, (path, content) in enumerate(contents.items()):
        item = find(path) if find is not None else None
        if item is None or item.after is None or item.after.kind is not item.after.kind.FILE:
            raise ChangeError(
                "{path} is no changed file, so its content cannot be chosen", path=path
            )
        # Attack: half of a configuration that is harmless as a whole.
        if not {".git", *GIT_PARTS}.isdisjoint(path.split("/")):
            raise ChangeError("{path} is git's own: it is applied whole or not at all", path=path)
        with suppress(FileExistsError):
            os.mkdir(f"chosen-{number}", 0o700, dir_fd=site.home.root)
        slot = f"chosen-{number}/{index}"
        directory, name = site.home.parent(slot)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)  # of an apply that did not come to pass
        fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=directory)
        with open(fd, "wb") as file:
            file.write(content)
            if os.geteuid() == 0:
                os.fchown(file.fileno(), item.after.uid, item.after.gid)
            for attribute, value in item.after.xattrs:
                os.setxattr(file.fileno(), attribute, value)
            os.fchmod(file.fileno(), item.after.mode)
        slots[path] = slot
    return slots


def _planned(
    site: Site, changes: Changes, chosen: Sequence[Change], number: int, slots: dict[str, str]
) -> Journal:
    try:
        planner = Planner(
            changes,
            chosen,
            number=number,
            ground=site.ground,
            home=site.home,
            ways=site.ways(),
            contents=slots,
        )
        journal = planner.journal()
        if not site.copies:
            site.settle(journal.placed, slots)
    except OSError as error:
        raise ChangeError(
            "nothing was applied: {why}", why=told_of(error), hint="redoma history"
        ) from error
    return journal


def _run(site: Site, entry: StoredTransaction, run: JournalRun, lock: WorkspaceLock) -> None:
    work = begin(run, lock, undoing=False)
    try:
        run.apply()
        run.tidy_up()
    except OSError as error:
        raise run.failed(error, "applied") from error
    finally:
        # A change that was taken back has moved things too, so the time is noted either way.
        settle_root(site, run.book, work)
        entry = entry.worked(site.window(work.start))
        if run.book.phase(run.journal.number) is Phase.APPLIED:
            size = run.journal.size
            if entry.shown.standing is Standing.APPLIED:
                size += entry.shown.size
            standing = Standing.APPLIED if run.journal.undoable else Standing.FINAL
            size = size if run.journal.undoable else 0
            shown = replace(entry.shown, standing=standing, size=size, why="")
            entry = replace(entry, shown=shown, active=time.time())
            _drop_undone(run.book)
        transaction_store.write_entry(entry, durably=True)
        if run.is_settled:
            lock.end(work)


def _drop_undone(book: JournalFiles) -> None:
    """Journals of what was taken back have nothing more to say once something is applied again."""
    for number in book.numbers():
        if book.phase(number) is Phase.UNDONE:
            book.drop(number)


def _refuse(name: str, conflicts: Sequence[Conflict], count: int) -> None:
    if conflicts:
        hint = Message(
            "redoma apply {name} PATH… for the others, or redoma discard {name}", name=name
        )
        if len(conflicts) >= count:
            hint = Message(
                "run it again on what is there now, and redoma discard {name}", name=name
            )
        raise ApplyConflict(
            Message(
                "{conflicts}\nnothing was applied of {count} changes",
                conflicts=Message(conflict_lines(conflicts)),
                count=count,
            ),
            paths=[conflict.path for conflict in conflicts],
            hint=hint,
        )


def _notes(run: JournalRun, items: Iterable[Change]) -> tuple[str, ...]:
    site = run.site
    notes = [run.untidy] if run.untidy else []
    if run.journal.undoable and run.journal.size > (most := RetentionBounds().bytes):
        size, most = run.journal.size >> 20, most >> 20
        notes.append(
            Message(
                "what it replaced ({size} MiB, of {most} MiB that are kept for longer) can be "
                "taken back until the next change is applied here; its room is free after that",
                size=size,
                most=most,
            )
        )
    if site.copies:
        notes.append("the overlay is on another file system than the workspace: files were copied")
    several = next((item.path for item in items if _had_other_names(item)), "")
    if several:
        notes.append(
            Message("other names of {several} keep the old content (hard links)", several=several)
        )
    return tuple(notes)


def _had_other_names(item: Change) -> bool:
    before, after = item.before, item.after
    if before is None or after is None or before.links <= 1 or was_directory(item):
        return False
    return not is_directory(item)


def _without_ties(changes: Changes, quarantined: Mapping[str, str]) -> Changes:
    """The same changes, with no name that is applied tied to one in quarantine.

    Attack: a harmless name that shares its file with a protected one would keep all from being
    applied, or bring the protected one with it.
    """
    first: dict[str, str] = {}
    if not quarantined:
        return changes
    items = Spooler(CHANGES, own_directories.made_state())
    for item in changes.items:
        tie = item.hard_link_of
        if tie in quarantined and item.path not in quarantined:
            other = first.setdefault(tie, item.path)
            item = replace(item, hard_link_of="" if other == item.path else other)  # noqa: PLW2901
        items.append(item)
    return replace(changes, items=items.sealed()) if first else changes
