"""Takes back what was applied, as long as nobody has changed it since.

Keeps what undo needs within bounds: lets the oldest transaction go, never one in use.

The last apply of a workspace never goes by itself, whatever its size: a person was told that it can
be undone. With an overlay on the workspace's own file system it costs nothing but that
its room is not free yet.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from redoma.base import own_directories
from redoma.jail.overlay import store, transaction_store
from redoma.jail.overlay.conflicts import WorkspaceCheck, paths_of, touched_by
from redoma.jail.overlay.failure import Interruption, conflict_lines
from redoma.jail.overlay.journal import JournalFiles, Phase
from redoma.jail.overlay.journal_run import JournalRun, begin, errors_of, settle_root
from redoma.jail.overlay.locks import collecting, locked, recover, remove_old, settled
from redoma.jail.overlay.protected_changes import OwnPartsCheck
from redoma.jail.overlay.site import Site
from redoma.jail.overlay.transaction_store import overlay_of
from redoma.jail.protect.untrusted_paths import size_of
from redoma.model.change import Freed, Standing, Undone
from redoma.model.errors import PreviewGone, UndoImpossible
from redoma.model.message import Message
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.failure import Conflict
    from redoma.jail.overlay.journal import Journal
    from redoma.jail.overlay.locks import WorkspaceLock
    from redoma.jail.overlay.transaction_store import StoredTransaction


_DAY = 86_400.0
# What still has something on disk.
_KEEPING = frozenset({Standing.HELD, Standing.APPLIED, Standing.UNDONE, Standing.INTERRUPTED})


class RetentionBounds(Value):
    """How much is kept beside the newest of each workspace; what is older or more is let go."""

    age: float = 14 * _DAY
    size: int = 2 << 30
    share: float = 0.05  # of the disk, where that is less than `size`
    count: int = 200
    lines: int = 1000  # of the history
    # Whether what was applied last in each workspace goes as well, and not only what is before it.
    newest: bool = False

    @property
    def bytes(self) -> int:
        """How many bytes are kept at most."""
        found = os.statvfs(own_directories.made_state())
        return min(self.size, int(found.f_blocks * found.f_frsize * self.share))


def collect(
    bounds: RetentionBounds | None = None, *, only_tell: bool = False, wait: bool = True
) -> Freed:
    """Lets go of what is past the bounds, and of overlays whose run never came to an end.

    No workspace is locked for longer than it takes to write that one of its transactions is gone.
    """
    bounds = bounds or RetentionBounds()
    if not os.path.lexists(own_directories.state()):
        return Freed(ids=(), size=0)  # no run ever left anything
    recover()
    freed: list[tuple[str, int]] = []
    with collecting(wait=wait) as ours:
        if not ours:
            return Freed()
        every = transaction_store.entries()
        claimed = {entry.id for entry in every if entry.shown.standing in _KEEPING}
        for overlay in store.overlays():
            if overlay.id not in claimed and not store.maker_lives(overlay):
                freed.append((overlay.id, size_of(overlay.directory)))
                if not only_tell:
                    store.remove_overlay(overlay)
        for entry in _past(every, bounds):
            if only_tell or _expired(entry):
                freed.append((entry.id, entry.shown.size))
        if not only_tell:
            _shorten(bounds)
            remove_old(time.time() - _DAY)
            _note_the_time()
    return Freed(ids=tuple(name for name, _ in freed), size=sum(size for _, size in freed))


def _past(every: list[StoredTransaction], bounds: RetentionBounds) -> list[StoredTransaction]:
    """What has to go, the oldest first."""
    now = time.time()
    keeping = [entry for entry in every if entry.shown.standing in _KEEPING]
    newest = set() if bounds.newest else _newest_of_workspaces(keeping)
    keeping.sort(key=_moment)
    size = sum(entry.shown.size for entry in keeping if entry.id not in newest)
    count = len(keeping)
    most = bounds.bytes
    past = []
    for entry in keeping:
        applied = entry.shown.standing is Standing.APPLIED
        old = now - _moment(entry) > bounds.age
        # What ended half-way waits for a person, as long as anything waits.
        movable = entry.shown.standing is not Standing.INTERRUPTED and entry.id not in newest
        if entry.id in newest and applied:
            continue
        if (old or (movable and (size > most or count > bounds.count))) and not in_use(entry):
            past.append(entry)
            count -= 1
            size -= entry.shown.size if entry.id not in newest else 0
    return past


def _newest_of_workspaces(keeping: list[StoredTransaction]) -> set[str]:
    """The last transaction of each workspace that is still there, and the last one applied."""
    found: dict[tuple[object, ...], StoredTransaction] = {}
    for entry in keeping:
        for key in (entry.root, (*entry.root, entry.shown.standing is Standing.APPLIED)):
            if key[2:] != (False,) and _moment(found.setdefault(key, entry)) <= _moment(entry):
                found[key] = entry
    return {entry.id for entry in found.values() if _stands(entry)}


def _stands(entry: StoredTransaction) -> bool:
    """Whether the workspace of a transaction is still where it was."""
    with suppress(OSError):
        status = os.stat(entry.shown.workspace)
        return (status.st_dev, status.st_ino) == entry.root
    return False


def _moment(entry: StoredTransaction) -> float:
    return max(entry.active, entry.shown.when)


def in_use(entry: StoredTransaction) -> bool:
    """Whether the process that made a preview still lives, and may be about to apply it."""
    if entry.shown.standing is not Standing.HELD:
        return False
    overlay = store.find_overlay(entry.id)
    return overlay is not None and store.maker_lives(overlay)


def _expired(entry: StoredTransaction) -> bool:
    """Lets a transaction go; False while someone is at work in its workspace."""
    with locked(entry.shown.workspace, entry.root, wait=False) as lock:
        if lock is None:
            return False
        with suppress(PreviewGone):
            now = transaction_store.read_entry(entry.id)
            if (now.shown.standing, now.active) != (entry.shown.standing, entry.active):
                return False
            retire(now)
    remove_stored_overlay(entry.id)
    return True


def retire(entry: StoredTransaction, standing: Standing = Standing.EXPIRED) -> None:
    """Forgets what a transaction could do; its line in the history stays.

    `remove_stored_overlay` removes its overlay when the lock is free again: that may take long. A
    crash leaves an overlay that nobody claims, which the next round takes.
    """
    shown = replace(entry.shown, standing=standing, size=0)
    transaction_store.write_entry(replace(entry, shown=shown))
    if standing is not Standing.FINAL:
        transaction_store.forget(entry.id)  # of that, others may still ask which paths it changed


def remove_stored_overlay(name: str) -> None:
    """Removes the overlay of a transaction that has expired or was discarded."""
    overlay = store.find_overlay(name)
    if overlay is not None:
        store.remove_overlay(overlay)


def _shorten(bounds: RetentionBounds) -> None:
    over = [e for e in transaction_store.entries() if e.shown.standing not in _KEEPING][::-1]
    total = len(transaction_store.entries())
    for entry in over[: max(0, total - bounds.lines)]:
        transaction_store.forget_entry(entry.id)
    for entry in over[max(0, total - bounds.lines) :]:
        if entry.shown.standing is Standing.FINAL and time.time() - _moment(entry) > _DAY:
            transaction_store.forget(entry.id)


def make_due() -> None:
    """Has the next apply make room: what was the newest until then is not kept for longer."""
    with suppress(FileNotFoundError):
        os.unlink(_stamp())


def is_due() -> bool:
    """Whether the last round was more than a day ago."""
    try:
        return time.time() - os.stat(_stamp()).st_mtime > _DAY
    except FileNotFoundError:
        return True


def _stamp() -> str:
    return f"{transaction_store.root()}/collected"


def _note_the_time() -> None:
    transaction_store.made_root()
    fd = os.open(_stamp(), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.utime(fd)
    finally:
        os.close(fd)


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
