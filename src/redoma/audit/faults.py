"""What can be wrong with a record, by name."""

from __future__ import annotations

from enum import Enum

from redoma.model.value import Value


class Wrong(Enum):
    """What was done."""

    CHANGED = "changed"  # a row does not say what it said
    DELETED = "deleted"  # rows in the middle are missing, and nobody with the key let them go
    REORDERED = "reordered"  # a row stands where another one stood
    ADDED = "added"  # a row that was never written by us
    TRUNCATED = "truncated"  # the newest rows are missing
    REWRITTEN = "rewritten"  # rows fit each other, and lead elsewhere than they did
    HEAD_REPLACED = "head-replaced"
    HEAD_FILE = "head-file-replaced"
    GAP_FORGED = "gap-forged"
    DAMAGED = "damaged"  # the database itself
    GONE = "gone"


class Fault(Value):
    """One thing that is wrong, and the entry where it is."""

    wrong: Wrong
    text: str
    entry: int = 0


class Verification(Value):
    """What was checked, and what was found."""

    rows: int = 0
    let_go: int = 0  # by retention
    last: int = 0
    head: str = ""  # the link of the last entry
    faults: tuple[Fault, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the record is as it was written."""
        return not self.faults
