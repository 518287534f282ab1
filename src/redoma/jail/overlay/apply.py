"""Applies held changes to their workspace, all or chosen ones; whole or not at all."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from redoma.jail.guard.names import GIT_PARTS
from redoma.jail.overlay import kept
from redoma.jail.overlay.carrying import room_for
from redoma.jail.overlay.choosing import choose
from redoma.jail.overlay.conflicts import Ground
from redoma.jail.overlay.journal import Book, Phase
from redoma.jail.overlay.kept import layer_of
from redoma.jail.overlay.lock import locked
from redoma.jail.overlay.planning import Planner
from redoma.jail.overlay.protect import protected
from redoma.jail.overlay.recovery import recover_under
from redoma.jail.overlay.running import Run, begin, errors_of, settle_root
from redoma.jail.overlay.site import Site
from redoma.model.errors import ApplyConflict, ChangeError, PreviewGone
from redoma.model.transaction import Applied, Standing
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from redoma.jail.overlay.conflicts import Conflict
    from redoma.jail.overlay.journal import Journal
    from redoma.jail.overlay.kept import Entry
    from redoma.jail.overlay.lock import Held
    from redoma.model.change import Change, Changes

_MOST_TOLD = 20


def apply(
    name: str,
    paths: Iterable[str] | None = None,
    *,
    contents: Mapping[str, bytes] | None = None,
    allowed: Iterable[str] = (),
) -> Applied:
    """Applies what is still held, or what of it lies at or below `paths`.

    `contents` stands in for what the layer has of a file. What a person's own tools obey is held
    back, but for `allowed`: absolute paths that a person gave by name.
    """
    with locked() as lock:
        assert lock is not None
        recover_under(lock)
        entry = kept.read_entry(name)
        changes = kept.load(name)
        layer = layer_of(name, entry)
        book = Book(kept.directory(name))
        remaining = _remaining(changes, book)
        why = protected(remaining, layer.upper, tuple(allowed))
        remaining = _without_ties(remaining, why)
        choice = choose(remaining, paths, why=why, kept_in=layer.upper)
        opened = Site(entry.shown.workspace, entry.root, layer.directory)
        with opened as site, errors_of("the apply"):
            if not choice.items:
                return Applied(id=name, held_back=choice.held_back)
            ground = Ground(
                site.ground, lambda: kept.windows_of(changes.workspace), changes.began_ns
            )
            _refuse(name, ground.check(choice.items), len(choice.items))
            number = max(book.numbers(), default=0) + 1
            slots = _written(site, number, remaining, contents or {})
            journal = _planned(site, remaining, choice.items, number, slots)
            run = Run(site, book, journal)
            _run(site, entry, run, lock)
    return Applied(
        id=name,
        changes=choice.items,
        brought=choice.brought,
        held_back=choice.held_back,
        notes=_notes(run, choice.items),
    )


def _remaining(changes: Changes, book: Book) -> Changes:
    """What is not applied yet, or was taken back."""
    applied: set[str] = set()
    for number in book.numbers():
        if book.phase(number) is Phase.APPLIED:
            applied.update(book.read(number).paths)
    items = tuple(item for item in changes.items if item.path not in applied)
    if not items:
        raise PreviewGone(f"{changes.id} is applied already", hint=f"redoma undo {changes.id}")
    return replace(changes, items=items)


def _written(
    site: Site, number: int, changes: Changes, contents: Mapping[str, bytes]
) -> dict[str, str]:
    """The slots of contents that a person put together; each like the layer's file but for that."""
    slots: dict[str, str] = {}
    by_path = {item.path: item for item in changes.items}
    for index, (path, content) in enumerate(contents.items()):
        item = by_path.get(path)
        if item is None or item.after is None or item.after.kind is not item.after.kind.FILE:
            raise ChangeError(f"{path} is no changed file, so its content cannot be chosen")
        # Attack: half of a configuration that is harmless as a whole.
        if not {".git", *GIT_PARTS}.isdisjoint(path.split("/")):
            raise ChangeError(f"{path} is git's own: it is applied whole or not at all")
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
    site: Site, changes: Changes, chosen: tuple[Change, ...], number: int, slots: dict[str, str]
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
        if site.copies:
            room_for(journal, site.directory)
        else:
            site.settle(journal.placed, slots)
    except OSError as error:
        why = error.strerror or str(error)
        raise ChangeError(f"nothing was applied: {why}", hint="redoma history") from error
    return journal


def _run(site: Site, entry: Entry, run: Run, lock: Held) -> None:
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
            shown = replace(entry.shown, standing=Standing.APPLIED, size=size, why="")
            entry = replace(entry, shown=shown, active=time.time())
            _drop_undone(run.book)
        kept.write_entry(entry, durably=True)
        if run.is_settled:
            lock.end()


def _drop_undone(book: Book) -> None:
    """Journals of what was taken back have nothing more to say once something is applied again."""
    for number in book.numbers():
        if book.phase(number) is Phase.UNDONE:
            book.drop(number)


def _refuse(name: str, conflicts: Sequence[Conflict], count: int) -> None:
    if conflicts:
        raise ApplyConflict(
            f"{told(conflicts)}\nnothing was applied of {count} changes",
            paths=[conflict.path for conflict in conflicts],
            hint=f"redoma apply {name} PATH… for the others, or redoma discard {name}",
        )


def told(conflicts: Sequence[Conflict]) -> str:
    """Conflicts as lines, the first of them."""
    lines = [f"{conflict.path} {conflict.why}" for conflict in conflicts[:_MOST_TOLD]]
    if len(conflicts) > _MOST_TOLD:
        lines.append(f"and {len(conflicts) - _MOST_TOLD} more")
    return "\n".join(lines)


def _notes(run: Run, items: Iterable[Change]) -> tuple[str, ...]:
    site = run.site
    notes = [run.untidy] if run.untidy else []
    if site.copies:
        notes.append("the layer is on another file system than the workspace: files were copied")
    several = [i.path for i in items if i.before is not None and i.before.links > 1 and i.after]
    several = [path for path in several if not os.path.isdir(f"{site.workspace}/{path}")]
    if several:
        notes.append(f"other names of {several[0]} keep the old content (hard links)")
    return tuple(notes)


def _without_ties(changes: Changes, held: Mapping[str, str]) -> Changes:
    """The same changes, with no name that is applied tied to one that is held back.

    Attack: a harmless name that shares its file with a protected one would keep all from being
    applied, or bring the protected one with it.
    """
    first: dict[str, str] = {}
    items = []
    for item in changes.items:
        tie = item.hard_link_of
        if tie in held and item.path not in held:
            other = first.setdefault(tie, item.path)
            item = replace(item, hard_link_of="" if other == item.path else other)  # noqa: PLW2901
        items.append(item)
    return replace(changes, items=tuple(items)) if first else changes
