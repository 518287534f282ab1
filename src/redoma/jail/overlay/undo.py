"""Takes back what was applied, as long as nobody has changed it since."""

from __future__ import annotations

import time

from redoma.jail.overlay import transaction_store
from redoma.jail.overlay.conflicts import WorkspaceCheck, paths_of, touched_by
from redoma.jail.overlay.failure import Interruption, conflict_lines
from redoma.jail.overlay.journal import JournalFiles, Phase
from redoma.jail.overlay.journal_run import JournalRun, begin, errors_of, settle_root
from redoma.jail.overlay.locks import settled
from redoma.jail.overlay.protected_changes import OwnPartsCheck
from redoma.jail.overlay.site import Site
from redoma.jail.overlay.transaction_store import overlay_of
from redoma.model.change import Standing, Undone
from redoma.model.errors import PreviewGone, UndoImpossible
from redoma.model.message import Message
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.failure import Conflict
    from redoma.jail.overlay.journal import Journal
    from redoma.jail.overlay.locks import WorkspaceLock
    from redoma.jail.overlay.transaction_store import StoredTransaction


def last_applied(workspace: str = "") -> str:
    """The transaction that was applied last, in one workspace or in any."""
    done = (Standing.APPLIED, Standing.FINAL)
    applied = [
        entry
        for entry in transaction_store.entries()
        if entry.shown.standing in done and workspace in ("", entry.shown.workspace)
    ]
    if not any(entry.shown.standing is Standing.APPLIED for entry in applied):
        raise UndoImpossible("nothing that was applied can be undone", hint="redoma history")
    last = max(applied, key=lambda entry: entry.active)
    _refuse_final(last)
    return last.id


def _refuse_final(entry: StoredTransaction) -> None:
    if entry.shown.standing is Standing.FINAL:
        raise UndoImpossible(
            Message("{id} was applied with nothing kept to undo it", id=entry.id),
            hint="redoma undo ID for one before it; redoma history",
        )


def undo(name: str) -> Undone:
    """Takes back the last apply of a transaction; UndoImpossible where that would lose work."""
    with settled(transaction_store.read_entry(name)) as lock:
        entry = transaction_store.read_entry(name)
        _refuse_final(entry)
        book = JournalFiles(transaction_store.directory(name))
        number = book.in_phase(Phase.APPLIED)
        if number is None:
            raise UndoImpossible(
                Message(
                    "{id} is {standing}: there is nothing to take back",
                    id=name,
                    standing=Message(entry.shown.standing.value),
                ),
                hint="redoma history",
            )
        journal = book.read(number)
        try:
            overlay = overlay_of(name, entry)
        except PreviewGone as gone:
            raise UndoImpossible(str(gone), hint="redoma history") from None
        opened = Site(entry.shown.workspace, entry.root, overlay.directory)
        with opened as site, errors_of("the undo"):
            ground = WorkspaceCheck(
                site.ground, lambda: transaction_store.windows_of(entry), entry.began_ns
            )
            later = _applied_later(entry, journal)
            for other, path in later:
                ground.note_later(path, other)
            _refuse_ours(name, entry, journal)
            conflicts = ground.check_undo(journal)
            if conflicts:
                raise _impossible(name, conflicts, later)
            run = JournalRun(site, book, journal)
            with Interruption():
                _run(site, entry, run, lock)
    return Undone(id=name, paths=journal.paths, notes=(run.untidy,) if run.untidy else ())


def _refuse_ours(name: str, entry: StoredTransaction, journal: Journal) -> None:
    """Attack: a command's file is removed, Redoma is installed there, and the removal is undone."""
    root = entry.shown.workspace
    ours = OwnPartsCheck(root)
    paths = [path for path in sorted(paths_of(journal)) if ours.has(path)]
    if paths:
        raise UndoImpossible(
            Message(
                "Redoma itself runs from {root}/{path} now: nothing of {name} was taken back",
                root=root,
                path=paths[0],
                name=name,
            ),
            paths=paths,
            hint="install Redoma elsewhere (pipx install redoma), and undo it from there",
        )


def _run(site: Site, entry: StoredTransaction, run: JournalRun, lock: WorkspaceLock) -> None:
    work = begin(run, lock, undoing=True)
    try:
        run.undo()
        run.tidy_up()
    except OSError as error:
        raise run.failed(error, "taken back") from error
    finally:
        settle_root(site, run.book, work)
        window = site.window(work.start, copied=site.copies)
        entry = entry.worked(window)
        if run.book.phase(run.journal.number) is Phase.UNDONE:
            entry = replace(entry, active=time.time())
            if run.book.in_phase(Phase.APPLIED) is None:
                entry = entry.standing(Standing.UNDONE)
            entry = transaction_store.with_size(entry, run.book)
        transaction_store.write_entry(entry, durably=True)
        if run.is_settled:
            lock.end(work)


def _impossible(
    name: str, conflicts: list[Conflict], later: list[tuple[str, str]]
) -> UndoImpossible:
    paths = [conflict.path for conflict in conflicts]
    hint = "redoma history"
    if later and transaction_store.read_entry(later[0][0]).shown.standing is Standing.APPLIED:
        hint = Message("redoma undo {id} first", id=later[0][0])
    return UndoImpossible(
        Message(
            "{conflicts}\nnothing of {name} was taken back",
            conflicts=Message(conflict_lines(conflicts)),
            name=name,
        ),
        paths=paths,
        hint=hint,
    )


def _applied_later(entry: StoredTransaction, journal: Journal) -> list[tuple[str, str]]:
    """Other transactions that changed the same paths since, the last one first, and which paths."""
    ours = paths_of(journal)
    found = []
    since = [
        o
        for o in transaction_store.entries_since(int(entry.active * 1e9))
        if o.active >= entry.active
    ]
    for other in sorted(since, key=lambda each: each.active, reverse=True):
        if other.id == entry.id or not transaction_store.overlap(entry, other):
            continue
        if JournalFiles(transaction_store.directory(other.id)).in_phase(Phase.APPLIED) is not None:
            both = sorted(ours & touched_by(other, entry, only=Phase.APPLIED).paths)
            found += [(other.id, path) for path in both]
    return found
