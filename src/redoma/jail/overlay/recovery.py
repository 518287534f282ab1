"""Brings to an end what a killed process left in the middle of an apply or an undo."""

from __future__ import annotations

from contextlib import contextmanager

from redoma.jail.overlay.lock import anything_unfinished, forget, locked, unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.jail.overlay.kept import Entry
    from redoma.jail.overlay.lock import Held, Unfinished

_TRIES = 600
_PAUSE = 0.05


def recover() -> tuple[str, ...]:
    """Brings to an end what killed processes left, in every workspace; the transactions' names.

    What another living process is at work on is left alone.
    """
    if not anything_unfinished():
        return ()
    return tuple(work.name for work in unfinished() if _recovered(work))


def in_progress() -> frozenset[str]:
    """The transactions that a living process is in the middle of, once the others are recovered."""
    return frozenset(work.name for work in unfinished()) if anything_unfinished() else frozenset()


@contextmanager
def settled(entry: Entry) -> Iterator[Held]:
    """Holds the lock of a transaction's workspace, in and around which nothing is half-way."""
    import time

    from redoma.model.errors import ChangeError

    for _ in range(_TRIES):
        recover()
        with locked(entry.shown.workspace, entry.root) as lock:
            assert lock is not None
            if not _half_way(entry):
                yield lock
                return
        time.sleep(_PAUSE)
    raise ChangeError(
        f"another process is at work in {entry.shown.workspace}", hint="redoma history --all"
    )


def _half_way(entry: Entry) -> bool:
    """Whether someone died in this workspace, or in one that overlaps it, since we looked."""
    from redoma.jail.overlay import kept
    from redoma.model.errors import PreviewGone

    for work in unfinished():
        try:
            other = kept.read_entry(work.name)
        except PreviewGone:
            continue
        if kept.overlap(entry, other):
            return True
    return False


def _recovered(work: Unfinished) -> bool:
    from redoma.jail.overlay import kept
    from redoma.model.errors import RedomaError
    from redoma.model.transaction import Standing

    try:
        entry = kept.read_entry(work.name)
    except RedomaError:
        forget(work.name)  # nothing is known of it, so nothing was begun
        return False
    with locked(entry.shown.workspace, entry.root, wait=False) as lock:
        if lock is None or work not in unfinished():
            return False
        entry = kept.read_entry(work.name)
        try:
            entry = _ended(entry, work)
        except (OSError, RedomaError) as error:
            # What is kept stays kept; a person has to look.
            entry = entry.standing(Standing.INTERRUPTED, why=str(error))
        kept.write_entry(entry, durably=True)
        lock.end(work)
    if entry.shown.standing is Standing.FINAL:
        from redoma.jail.overlay.collect import remove_kept_layer

        remove_kept_layer(work.name)
    return True


def _ended(entry: Entry, work: Unfinished) -> Entry:
    import time

    from redoma.jail.overlay import kept
    from redoma.jail.overlay.journal import Book, Phase
    from redoma.jail.overlay.running import bring_to_an_end
    from redoma.jail.overlay.site import Site
    from redoma.model.transaction import Standing
    from redoma.model.value import replace

    book = Book(kept.directory(work.name))
    layer = kept.layer_of(work.name, entry)
    with Site(entry.shown.workspace, entry.root, layer.directory) as site:
        bring_to_an_end(site, book, work)
        # Nobody knows when it died: what it moved, it moved since it began.
        window = site.window(work.start, copied=site.copies)
    phases = [book.phase(number) for number in book.numbers()]
    standing = Standing.UNDONE if phases else Standing.HELD
    if Phase.APPLIED in phases:
        keeps = all(book.read(number).undoable for number in book.numbers())
        standing = Standing.APPLIED if keeps else Standing.FINAL
    entry = kept.weighed(entry.worked(window).standing(standing), book)
    if book.phase(work.number) is (Phase.UNDONE if work.undoing else Phase.APPLIED):
        entry = replace(entry, active=time.time())  # it was done: the last of this workspace
    return entry
