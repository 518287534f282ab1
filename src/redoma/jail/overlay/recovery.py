"""Brings to an end what a killed process left in the middle of an apply or an undo."""

from __future__ import annotations

from redoma.jail.overlay.lock import anything_unfinished, locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.kept import Entry
    from redoma.jail.overlay.lock import Held, Unfinished


def recover_under(lock: Held) -> str:
    """Brings to an end what a killed process left; the transaction's name, if there was one."""
    from redoma.jail.overlay import kept
    from redoma.model.errors import RedomaError
    from redoma.model.transaction import Standing

    work = lock.unfinished()
    if work is None:
        return ""
    name = work.name
    try:
        entry = kept.read_entry(name)
    except RedomaError:
        lock.end()  # nothing is known of it, so nothing was begun
        return ""
    try:
        entry = _ended(entry, work)
    except (OSError, RedomaError) as error:
        # What is kept stays kept; a person has to look.
        entry = entry.standing(Standing.INTERRUPTED, why=str(error))
    kept.write_entry(entry, durably=True)
    lock.end()
    return name


def _ended(entry: Entry, work: Unfinished) -> Entry:
    from redoma.jail.overlay import kept
    from redoma.jail.overlay.journal import Book, Phase
    from redoma.jail.overlay.running import bring_to_an_end
    from redoma.jail.overlay.site import Site
    from redoma.model.transaction import Standing

    book = Book(kept.directory(work.name))
    layer = kept.layer_of(work.name, entry)
    with Site(entry.shown.workspace, entry.root, layer.directory) as site:
        bring_to_an_end(site, book, work)
        # Nobody knows when it died: what it moved, it moved since it began.
        window = site.window(work.start, copied=site.copies)
    phases = [book.phase(number) for number in book.numbers()]
    standing = Standing.UNDONE if phases else Standing.HELD
    if Phase.APPLIED in phases:
        standing = Standing.APPLIED
    return entry.worked(window).standing(standing)


def recover() -> str:
    """Brings to an end what a killed process left; another living process's work is left alone."""
    if not anything_unfinished():
        return ""
    with locked(wait=False) as lock:
        return recover_under(lock) if lock is not None else ""
