"""Runs a journal forward or back, whole or not at all; a crash is brought to an end later."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from redoma.jail.overlay.copies import carry_in, carry_out, drop_staging, staging_of
from redoma.jail.overlay.failure import at, failure_text, heed_no_more, look
from redoma.jail.overlay.journal import Phase
from redoma.jail.overlay.locks import UnfinishedWork
from redoma.jail.overlay.site import Mover, close_down, open_up
from redoma.jail.protect.untrusted_paths import remove_tree
from redoma.model.errors import ChangeError
from redoma.model.message import Message
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redoma.jail.overlay.journal import Journal, JournalFiles, JournalStep, TouchedDirectory
    from redoma.jail.overlay.locks import WorkspaceLock
    from redoma.jail.overlay.site import Site


class JournalRun:
    """One journal at one site."""

    def __init__(self, site: Site, book: JournalFiles, journal: Journal) -> None:
        self.site = site
        self.book = book
        self.journal = journal
        self.untidy = ""
        self._staging = f"{staging_of(book.name)}{journal.number}"

    def apply(self) -> None:
        """Everything is applied when this returns, and nothing is when it raises."""
        number = self.journal.number
        if self.site.copies:
            self.journal = replace(self.journal, staging=f"{self._staging}-apply")
        try:
            _make(f"{self.site.directory}/old-{number}")
            if self.journal.staging:
                self.journal = carry_in(self.journal, self.site.home, self.site.ground, undo=False)
            self._link()
            self.book.write(self.journal, Phase.APPLYING)
            self._forward()
            heed_no_more()
            self.book.mark(number, Phase.APPLIED)
        except BaseException:
            heed_no_more()
            self.abandon_apply()
            raise

    def undo(self) -> None:
        """Everything is taken back when this returns, and nothing is when it raises."""
        # Only what is written down is ever carried out again: a copy that was cut off is not.
        staging = f"{self._staging}-undo" if self.site.copies else ""
        self.journal = replace(self._as_found(), staging=staging)
        try:
            if staging:
                self.journal = carry_in(self.journal, self.site.home, self.site.ground, undo=True)
            self.book.write(self.journal, Phase.UNDOING)
            self._back()
            heed_no_more()
            self.book.mark(self.journal.number, Phase.UNDONE)
        except BaseException:
            heed_no_more()
            self.abandon_undo()
            raise

    def abandon_apply(self) -> None:
        """An apply that was begun has not happened."""
        if self.book.phase(self.journal.number) is Phase.APPLYING:
            self._back()
        # Forgotten before its slots go: without them, nobody could tell what was done.
        self.book.drop(self.journal.number)
        self._unlink()
        drop_staging(self.journal.staging, self.site.ground)
        with suppress(OSError):
            os.rmdir(f"{self.site.directory}/old-{self.journal.number}")

    def abandon_undo(self) -> None:
        """An undo that was begun has not happened."""
        if self.book.phase(self.journal.number) is Phase.UNDOING:
            self._forward()
            self.book.mark(self.journal.number, Phase.APPLIED)
        drop_staging(self.journal.staging, self.site.ground)

    def tidy_up(self) -> None:
        """As `finish`, when the work itself is done: notes what cannot be tidied up now."""
        try:
            self.finish()
        except OSError as error:
            self.untidy = Message(
                "what it replaced still lies in {workspace}/{staging}: {why}",
                workspace=self.site.workspace,
                staging=self.journal.staging,
                why=failure_text(error),
            )

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left for another start to do."""
        phase = self.book.phase(self.journal.number)
        return phase not in (Phase.APPLYING, Phase.UNDOING) and not self.untidy

    def failed(self, error: OSError, what: str) -> ChangeError:
        """The error that says what became of the work."""
        why = failure_text(error)
        if self.is_settled:
            return ChangeError(
                "nothing was {what}: {why}", what=Message(what), why=why, hint="redoma history"
            )
        return ChangeError(
            "it was {what} in part, and could not be taken back: {why}",
            what=Message(what),
            why=why,
            hint="the next start of redoma tries again; redoma history",
        )

    def finish(self) -> None:
        """Moves what left the workspace to its slots; nothing of ours stays in the workspace."""
        if self.book.phase(self.journal.number) is Phase.UNDONE:
            self._unlink()
        if self.journal.staging:
            if self.journal.undoable:
                carry_out(self.journal, self.site.home, self.site.ground, self.site.directory)
            drop_staging(self.journal.staging, self.site.ground)

    def _forward(self) -> None:
        moving, steps, directories = self._working()
        open_up(moving, directories)
        for step in steps:
            look()
            if not moving.is_done(step):
                moving.do(step)
        close_down(moving, [(directory, directory.after) for directory in directories])

    def _back(self) -> None:
        moving, steps, directories = self._working()
        open_up(moving, directories)
        for step in reversed(steps):
            look()
            if moving.is_done(step):
                moving.take_back(step)
        close_down(moving, [(directory, directory.before) for directory in directories])

    def _working(self) -> tuple[Mover, Sequence[JournalStep], Sequence[TouchedDirectory]]:
        """The steps, with their slots where they are worked on."""
        journal, site = self.journal, self.site
        if not journal.staging:
            moving = Mover(site.ground, site.home, keeps_inodes=not site.in_overlay)
            return moving, journal.steps, journal.directories
        moving = Mover(site.ground, site.inside, keeps_inodes=not site.in_overlay)
        places = {
            step.slot: f"{journal.staging}/{index}"
            for index, step in enumerate(journal.steps)
            if step.slot
        }
        steps = [
            replace(step, slot=places[step.slot]) if step.slot else step for step in journal.steps
        ]
        directories = [
            replace(directory, slot=places.get(directory.slot, ""))
            for directory in journal.directories
        ]
        return moving, steps, directories

    def _as_found(self) -> Journal:
        """The journal, with what other people did to directories in between left to them."""
        directories = []
        for directory in self.journal.directories:
            status = self.site.ground.status(directory.path)
            if directory.meant or status is None or None in (directory.before, directory.after):
                directories.append(directory)
                continue
            assert directory.before is not None
            assert directory.after is not None
            mode, uid, gid = status.st_mode & 0o7777, status.st_uid, status.st_gid
            ours = status.st_mtime_ns == directory.after.mtime_ns
            before = replace(
                directory.before,
                mode=mode,
                uid=uid,
                gid=gid,
                mtime_ns=directory.before.mtime_ns if ours else None,
            )
            after = replace(
                directory.after, mode=mode, uid=uid, gid=gid, mtime_ns=status.st_mtime_ns
            )
            directories.append(replace(directory, before=before, after=after))
        return replace(self.journal, directories=tuple(directories), steps=self._steps_as_found())

    def _steps_as_found(self) -> Sequence[JournalStep]:
        """The steps, with the numbers of files that were copied back by another undo since."""
        if not self.site.copies:
            return self.journal.steps
        steps = []
        for step in self.journal.steps:
            status = self.site.ground.status(step.path) if step.comes else None
            steps.append(replace(step, comes=status.st_ino) if status else step)
        return tuple(steps)

    def _link(self) -> None:
        """Slots that are second names of files in the workspace."""
        moving, steps, _ = self._working()
        for step in steps:
            if not step.link_of:
                continue
            with at(step.path, "made a second name of another file"):
                source, name = self.site.ground.parent(step.link_of)
                source = os.dup(source)
                try:
                    target, last = moving.slots.parent(step.slot)
                    os.link(name, last, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
                finally:
                    os.close(source)

    def _unlink(self) -> None:
        moving, steps, _ = self._working()
        for step in steps:
            if step.link_of:
                with suppress(FileNotFoundError):
                    directory, name = moving.slots.parent(step.slot)
                    os.unlink(name, dir_fd=directory)


@contextmanager
def errors_of(what: str) -> Iterator[None]:
    """An error of the machine before the work or after it is one of ours, with what follows."""
    try:
        yield
    except OSError as error:
        why = failure_text(error)
        raise ChangeError(
            "{what} did not come to its end: {why}",
            what=Message(what),
            why=why,
            hint="the next start of redoma brings it to one; redoma history",
        ) from error


def begin(run: JournalRun, lock: WorkspaceLock, *, undoing: bool) -> UnfinishedWork:
    """Writes down what is about to be done, so that another process can bring it to an end."""
    work = UnfinishedWork(
        name=run.book.name,
        number=run.journal.number,
        undoing=undoing,
        start=run.site.now(),
        root_mtime=os.fstat(run.site.ground.root).st_mtime_ns,
    )
    lock.begin(work)
    return work


def settle_root(site: Site, book: JournalFiles, work: UnfinishedWork) -> None:
    """The workspace has the time that is right for what became of the work.

    A directory of ours came and went in it where things had to be copied.
    """
    if not site.copies:
        return
    moment: int | None = work.root_mtime
    phase = book.phase(work.number)
    if phase is (Phase.UNDONE if work.undoing else Phase.APPLIED):
        top = next(d for d in book.read(work.number).directories if d.path == ".")
        wanted = top.before if work.undoing else top.after
        moment = wanted.mtime_ns if wanted is not None else None
    status = os.fstat(site.ground.root)
    if moment is not None and status.st_mtime_ns != moment:
        os.utime(f"/proc/self/fd/{site.ground.root}", ns=(status.st_atime_ns, moment))


def bring_to_an_end(site: Site, book: JournalFiles, work: UnfinishedWork) -> None:
    """Finishes what a process left half-way: an apply or undo that was not done has not happened.

    One that was done is tidied up after.
    """
    begun = set(book.numbers())
    for number in sorted(begun):
        run = JournalRun(site, book, book.read(number))
        phase = book.phase(number)
        if phase is Phase.APPLYING:
            run.abandon_apply()
        elif phase is Phase.UNDOING:
            run.abandon_undo()
        else:
            run.finish()
    # Where nothing was written down yet, nothing but copies and second names was made.
    for entry in site.ground.names("."):
        if entry.startswith(staging_of(book.name)):
            drop_staging(entry, site.ground)
    for entry in os.listdir(site.directory):
        number_of = entry.removeprefix("old-")
        if entry.startswith("old-") and number_of.isdigit() and int(number_of) not in begun:
            remove_tree(f"{site.directory}/{entry}")
    settle_root(site, book, work)


def _make(path: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
