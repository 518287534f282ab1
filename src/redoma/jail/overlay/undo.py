"""Takes back what was applied, as long as nobody has changed it since."""

from __future__ import annotations

import time

from redoma.jail.overlay import kept
from redoma.jail.overlay.apply import told
from redoma.jail.overlay.conflicts import Ground
from redoma.jail.overlay.journal import Book, Phase
from redoma.jail.overlay.kept import layer_of
from redoma.jail.overlay.lock import locked
from redoma.jail.overlay.recovery import recover_under
from redoma.jail.overlay.running import Run, begin, errors_of, settle_root
from redoma.jail.overlay.site import Site
from redoma.model.errors import PreviewGone, UndoImpossible
from redoma.model.transaction import Standing, Undone
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.jail.overlay.conflicts import Conflict
    from redoma.jail.overlay.journal import Journal, Window
    from redoma.jail.overlay.kept import Entry
    from redoma.jail.overlay.lock import Held


def last_applied(workspace: str = "") -> str:
    """The transaction that was applied last, in one workspace or in any."""
    applied = [
        entry
        for entry in kept.entries()
        if entry.shown.standing is Standing.APPLIED and workspace in ("", entry.shown.workspace)
    ]
    if not applied:
        raise UndoImpossible("nothing that was applied can be undone", hint="redoma history")
    return max(applied, key=lambda entry: entry.active).id


def undo(name: str) -> Undone:
    """Takes back the last apply of a transaction; UndoImpossible where that would lose work."""
    with locked() as lock:
        assert lock is not None
        recover_under(lock)
        entry = kept.read_entry(name)
        book = Book(kept.directory(name))
        number = book.in_phase(Phase.APPLIED)
        if number is None:
            raise UndoImpossible(
                f"{name} is {entry.shown.standing.value}: there is nothing to take back",
                hint="redoma history",
            )
        journal = book.read(number)
        try:
            layer = layer_of(name, entry)
        except PreviewGone as gone:
            raise UndoImpossible(str(gone), hint="redoma history") from None
        opened = Site(entry.shown.workspace, entry.root, layer.directory)
        with opened as site, errors_of("the undo"):
            ground = Ground(site.ground, lambda: _windows(entry), entry.began_ns)
            conflicts = ground.check_undo(journal)
            if conflicts:
                raise _impossible(name, entry, conflicts)
            run = Run(site, book, journal)
            _run(site, entry, run, lock)
    return Undone(id=name, paths=journal.paths, notes=(run.untidy,) if run.untidy else ())


def _windows(entry: Entry) -> Iterator[Window]:
    yield from entry.windows
    yield from kept.windows_of(entry.shown.workspace)


def _run(site: Site, entry: Entry, run: Run, lock: Held) -> None:
    work = begin(run, lock, undoing=True)
    try:
        run.undo()
        run.tidy_up()
    except OSError as error:
        raise run.failed(error, "taken back") from error
    finally:
        settle_root(site, run.book, work)
        window = site.window(work.start, copied=site.copies)
        entry = replace(entry.worked(window), active=time.time())
        if run.book.in_phase(Phase.APPLIED) is None:
            entry = entry.standing(Standing.UNDONE)
        kept.write_entry(entry, durably=True)
        if run.is_settled:
            lock.end()


def _impossible(name: str, entry: Entry, conflicts: list[Conflict]) -> UndoImpossible:
    paths = [conflict.path for conflict in conflicts]
    later = _applied_later(entry, set(paths))
    hint = f"redoma undo {later[0]} first" if later else "redoma history"
    return UndoImpossible(
        f"{told(conflicts)}\nnothing of {name} was taken back", paths=paths, hint=hint
    )


def _applied_later(entry: Entry, paths: set[str]) -> list[str]:
    """Other transactions that changed the same paths, the last one first."""
    found = []
    for other in sorted(kept.entries(), key=lambda e: e.active, reverse=True):
        if (
            other.id == entry.id
            or other.active < entry.active
            or other.shown.workspace != entry.shown.workspace
        ):
            continue
        book = Book(kept.directory(other.id))
        number = book.in_phase(Phase.APPLIED)
        if number is not None and paths & _touched(book.read(number)):
            found.append(other.id)
    return found


def _touched(journal: Journal) -> set[str]:
    return {step.path for step in journal.steps} | {mark.path for mark in journal.placed}
