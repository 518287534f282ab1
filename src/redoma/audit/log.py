"""`AuditLog`: where everything that happens is written down; no audit log, no run."""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread

from redoma.audit.chain import Draft, json_text, storable
from redoma.audit.writer import AuditWriter
from redoma.base.log import logger
from redoma.base.private_file import KeyPlace
from redoma.model.errors import RecordError, RecordUnavailable
from redoma.model.event import OWN_WORDS, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from redoma.audit.writer import WrittenRows
    from redoma.model.event import Event
    from redoma.model.policy import AdmissionLimits

operator = logger(__name__)
KEEP = 1000
# A connection that was open when this process was forked belongs to the parent. It is neither used
# nor closed here: closing would take part in the parent's locks.
_of_the_parent: list[object] = []


class AuditLog:
    """A record in a directory of its own; threads and processes may share it."""

    def __init__(
        self,
        directory: str,
        *,
        redact: Callable[[str], str] | None = None,
        keep: int | None = KEEP,
        keyed_by: KeyPlace = KeyPlace.FILE,
    ) -> None:
        """Nothing is opened or made before something is written.

        `redact` takes secrets out of every text before it is written; `keep` is how many of its
        newest entries a session keeps, None for all.
        """
        self.directory = directory
        self._redact = redact
        self._keep = keep
        self._keyed_by = keyed_by
        self._lock = allocate_lock()
        self._writer: AuditWriter | None = None
        self._pid = os.getpid()

    def append(self, *events: Event) -> int:
        """Writes the events in one piece; when it returns they are on disk. The last one's number.

        Raises RecordUnavailable where they cannot be written, ChainBroken where what is there was
        changed: then nothing may run.
        """
        return self._write(events, forced=True)

    def begin(self, *events: Event, limits: AdmissionLimits | None = None) -> PendingWrite:
        """As `admit`, except that the disk is waited for by `Pending.wait`, which must follow.

        What a run needs can be made ready meanwhile; the run itself may not start before.
        """
        rates = limits if limits is not None and limits.any else None
        turn = self._turn()
        writer = turn.__enter__()
        try:
            written = writer.write([self._draft(writer, event) for event in events], rates)
        except BaseException as error:
            turn.__exit__(type(error))
            raise
        pending = PendingWrite(writer, written, turn)
        if written.refusal is not None:
            pending.wait()
            raise written.refusal
        return pending

    def note(self, *events: Event) -> int:
        """As `append`, without waiting for the disk.

        What is noted outlives this process whatever becomes of it, and is on disk with the next
        `append` of anybody. It is for the end of a run: a power cut at worst makes an interruption
        of it, since its start is on disk.
        """
        return self._write(events, forced=False)

    def admit(self, *events: Event, limits: AdmissionLimits) -> int:
        """As `append`, where the limits let the start of a run among the events happen.

        Otherwise a refusal is written in its place and RateLimited raised. No two processes can
        take the last place.
        """
        return self._write(events, forced=True, limits=limits if limits.any else None)

    def close_interrupted(self) -> int:
        """Writes the end of runs whose process is gone, as the first write of a process does."""
        return self._write((), forced=True)

    def digest_of(self, command: str) -> str:
        """The name of a command for `has_run` and `durations`."""
        with self._turn() as writer:
            return writer.digest_of(command)

    def has_run(self, digest: str) -> bool:
        """Whether a command was ever started here."""
        from redoma.audit import ledger
        from redoma.audit.database import WordedErrors, path_of

        with self._turn() as writer, WordedErrors(path_of(self.directory)):
            return ledger.has_run(writer.connection, digest)

    def durations(self, digest: str) -> tuple[float, ...]:
        """Seconds that the last runs of a command took, oldest first; at most sixteen."""
        from redoma.audit import ledger
        from redoma.audit.database import WordedErrors, path_of

        with self._turn() as writer, WordedErrors(path_of(self.directory)):
            return ledger.durations(writer.connection, digest)

    def close(self) -> None:
        """Closes the files; the next use opens them again."""
        self._after_fork()
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # When the interpreter ends, all that this rests on may have gone before it, names included.
        try:
            if self._writer is not None and self._pid == os.getpid():
                self._writer.close()
        except Exception:  # noqa: S110
            pass

    def _write(
        self, events: tuple[Event, ...], *, forced: bool, limits: AdmissionLimits | None = None
    ) -> int:
        with self._turn() as writer:
            if not events:
                writer.look_again()
            written = writer.write([self._draft(writer, event) for event in events], limits)
            if forced:
                writer.force(written)
        if written.refusal is not None:
            raise written.refusal
        return written.head.seq

    def _draft(self, writer: AuditWriter, event: Event) -> Draft:
        starting = event.kind is Kind.RUN_STARTING
        counted = starting and event.details.get("mode") != "preview"
        return Draft(
            event.kind,
            run=storable(event.run),
            session=storable(event.session),
            caller=storable(event.caller),
            command=storable(self._clean(event.command)),
            digest=writer.digest_of(event.command) if counted else "",
            details=self._details(event),
            facts=event.details,
        )

    def _details(self, event: Event) -> str:
        pairs = [
            f"{json_text(name, str)}:{json_text(value, str if name in OWN_WORDS else self._clean)}"
            for name, value in event.details.items()
        ]
        return f"{{{','.join(pairs)}}}"

    def _clean(self, text: str) -> str:
        if self._redact is None or not text:
            return text
        try:
            return self._redact(text)
        except Exception as error:
            # What could not be cleaned is not written, and what is not written does not run.
            raise RecordUnavailable(
                "secrets could not be taken out before writing: {kind}", kind=type(error).__name__
            ) from error

    def _turn(self) -> _HeadTurn:
        self._after_fork()
        return _HeadTurn(self)

    def _after_fork(self) -> None:
        if self._pid != os.getpid():
            _of_the_parent.append(self._writer)
            self._pid = os.getpid()
            self._writer = None
            self._lock = allocate_lock()

    def _give_up(self) -> None:
        """The next use opens everything anew: the cause may be gone by then."""
        if self._writer is not None:
            try:  # noqa: SIM105 # `contextlib` would be loaded by every check
                self._writer.close()
            except Exception:  # noqa: S110
                pass
            self._writer = None

    def _open(self) -> AuditWriter:
        if self._writer is None:
            operator.debug("the audit log in %s is opened", self.directory)
            self._writer = AuditWriter(self.directory, keyed_by=self._keyed_by, keep=self._keep)
        return self._writer


class PendingWrite:
    """Rows that are on their way to the disk."""

    def __init__(self, writer: AuditWriter, written: WrittenRows, turn: _HeadTurn) -> None:
        self._number = 0
        self._error: BaseException | None = None
        self._over = allocate_lock()
        self._over.acquire()
        try:
            start_new_thread(self._finish, (writer, written, turn))
        except RuntimeError:  # as many threads as there may be: then it is waited for here
            self._finish(writer, written, turn)

    def wait(self) -> int:
        """The last row's number, now that it is on disk; the error where it is not."""
        with self._over:
            if self._error is not None:
                raise self._error
            return self._number

    def _finish(self, writer: AuditWriter, written: WrittenRows, turn: _HeadTurn) -> None:
        try:
            writer.force(written)
            self._number = written.head.seq
        except BaseException as error:
            self._error = error
        finally:
            turn.__exit__(None if self._error is None else type(self._error))
            self._over.release()


class _HeadTurn:
    """A thread's turn at the writer of its process."""

    __slots__ = ("_record",)

    def __init__(self, record: AuditLog) -> None:
        self._record = record

    def __enter__(self) -> AuditWriter:
        self._record._lock.acquire()
        try:
            return self._record._open()
        except BaseException:
            self._record._lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        if kind is not None and issubclass(kind, RecordError):
            self._record._give_up()
        self._record._lock.release()
