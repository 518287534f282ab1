"""The audit rows of every worker, gathered into one log that can be verified as a whole.

Each worker writes the usual hash-chained log on its node. Its rows travel with what it hands back;
here each is held against the chain of its worker before it is written, with where it comes from and
its own link, into one log of the same kind. So two things can be proved of that log later: that
nobody changed it here, and that what it holds of each worker is that worker's chain from its first
row on.
"""

from __future__ import annotations

import json
import os

from redoma.audit.chain import GENESIS, json_text, link, row_bytes
from redoma.audit.chain_walk import Fault, Verification, Wrong
from redoma.audit.entries import AuditReader, EntryFilter
from redoma.audit.log import AuditLog
from redoma.audit.verification import verify
from redoma.base.private_file import make_directory
from redoma.model.errors import ChainBroken, StateUnavailable, UsageError
from redoma.model.event import Event, Kind
from redoma.model.message import Message
from redoma.model.value import replace
from redoma.pipeline.audit_log import key_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    # seq, at, kind, run, session, caller, command, digest, details, and the link in hex.
    Row: TypeAlias = tuple[object, ...]

ORIGIN = "origin"


def rows_after(directory: str, seq: int) -> tuple[Row, ...]:
    """The rows of an audit log behind a number, as they travel."""
    with AuditReader(directory) as reader:
        return tuple(
            (
                *(entry.seq, entry.at, entry.kind, entry.run, entry.session, entry.caller),
                *(entry.command, entry.digest, entry.details, entry.link),
            )
            for entry in reader.all(EntryFilter(after=seq))
        )


class GatheredLog:
    """One log for the rows of all workers of a job."""

    def __init__(self, directory: str) -> None:
        make_directory(directory, StateUnavailable)
        self.directory = directory
        # Their secrets were taken out where they were written; here a byte less breaks the chain.
        self._log = AuditLog(directory, keep=None, keyed_by=key_place())
        self._ends: dict[str, tuple[int, bytes]] = {}
        self._read_ends()

    def _read_ends(self) -> None:
        """Where each worker's chain stood when this job was last at work."""
        with AuditReader(self.directory) as reader:
            for entry in reader.all():
                origin = entry.facts().get(ORIGIN)
                if isinstance(origin, dict) and "link" in origin:
                    end = (int(origin["seq"]), bytes.fromhex(origin["link"]))
                    self._ends[str(origin["worker"])] = end

    def add(self, worker: str, node: str, rows: tuple[Row, ...]) -> None:
        """Writes the rows of a worker that are new, and what of its chain is missing or not its."""
        events = []
        for row in rows:
            seq, known = self._ends.get(worker, (0, GENESIS))
            number = row[0]
            assert isinstance(number, int)
            if number <= seq:
                continue  # it came before, with a delivery that was given twice
            if number != seq + 1:
                events.append(self._fault(worker, node, seq + 1, number - 1))
            elif link(known, row_bytes(row[:-1])).hex() != row[-1]:
                events.append(self._fault(worker, node, number, number))
            events.append(_event(worker, node, row))
            self._ends[worker] = (number, bytes.fromhex(str(row[-1])))
        if events:
            self._log.note(*events)

    def lost(self, worker: str, node: str) -> None:
        """Writes that a worker is gone, and from which row on nobody knows what it wrote."""
        seq = self._ends.get(worker, (0, GENESIS))[0]
        self._log.note(self._event(worker, node, {"gone": "the worker", "after": seq}))

    def close(self) -> None:
        """Has everything on disk."""
        self._log.append()
        self._log.close()

    def _fault(self, worker: str, node: str, first: int, last: int) -> Event:
        return self._event(worker, node, {"not_its_chain": [first, last]})

    def _event(self, worker: str, node: str, facts: dict[str, object]) -> Event:
        return Event(kind=Kind.VIOLATION, run="", details={**facts, "worker": worker, "node": node})


def _event(worker: str, node: str, row: Row) -> Event:
    seq, at, kind, run, session, caller, command, digest, details, own = row
    facts = json.loads(str(details))
    origin = {"worker": worker, "node": node, "seq": seq, "at": at, "digest": digest, "link": own}
    return Event(
        kind=Kind(kind),
        run=str(run),
        session=str(session),
        caller=str(caller),
        command=str(command),
        details={**facts, ORIGIN: origin},
    )


def check_origins(directory: str) -> dict[str, int]:
    """How many rows of each worker are there, from its first on; ChainBroken where one is not its.

    This is beside `verify`, which says whether the gathered log itself is as it was written.
    """
    ends: dict[str, tuple[int, bytes]] = {}
    with AuditReader(directory) as reader:
        for entry in reader.all():
            facts = entry.facts()
            if "not_its_chain" in facts:
                raise _broken(str(facts["worker"]), entry.seq)
            origin = facts.pop(ORIGIN, None)
            if not isinstance(origin, dict):
                continue
            worker = str(origin["worker"])
            seq, known = ends.get(worker, (0, GENESIS))
            texts = (entry.kind, entry.run, entry.session, entry.caller, entry.command)
            row = (origin["seq"], origin["at"], *texts, origin["digest"], json_text(facts, str))
            own = link(known, row_bytes(row))
            if origin["seq"] != seq + 1 or own.hex() != origin["link"]:
                raise _broken(worker, entry.seq)
            ends[worker] = (origin["seq"], own)
    return {worker: seq for worker, (seq, _) in ends.items()}


def verified(directory: str) -> tuple[Verification, dict[str, int]]:
    """Whether the gathered log is as it was written, and each worker's rows are its chain."""
    if not os.path.isdir(directory):
        raise UsageError("there is no gathered log in {directory}", directory=directory)
    found = verify(directory, keyed_by=key_place())
    try:
        return found, check_origins(directory)
    except ChainBroken as error:
        fault = Fault(wrong=Wrong.REWRITTEN, entry=error.entry, text=str(error))
        return replace(found, faults=(*found.faults, fault)), {}


def _broken(worker: str, entry: int) -> ChainBroken:
    return ChainBroken(
        Message("entry {entry} does not continue the log of worker {worker}",
                entry=entry, worker=worker),
        entry=entry,
    )  # fmt: skip
