"""What became of held changes: applied, taken back, or let go; and the history of it."""

from __future__ import annotations

from enum import Enum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.model.change import Change
    from redoma.model.result import Quarantined


class Standing(Enum):
    """Where a transaction stands."""

    HELD = "held"  # in its overlay, nothing applied
    APPLIED = "applied"
    UNDONE = "undone"  # applied and taken back; can be applied again
    DISCARDED = "discarded"
    EXPIRED = "expired"  # what could be undone was let go to make room
    INTERRUPTED = "interrupted"  # ended half-way, and could not be brought to either end
    FINAL = "final"  # applied with nothing kept: it cannot be undone
    IN_PROGRESS = "in-progress"  # a living process is applying or undoing it at this moment

    @property
    def holds(self) -> bool:
        """Whether something is still kept of it, to be applied or undone."""
        return self not in (Standing.DISCARDED, Standing.EXPIRED, Standing.FINAL)


class HistoryEntry(Value):
    """One transaction, as a list of them shows it."""

    id: str
    when: float  # seconds since 1970
    command: str
    workspace: str
    standing: Standing
    created: int = 0
    modified: int = 0
    deleted: int = 0
    renamed: int = 0
    attributes: int = 0
    size: int = 0  # bytes it keeps on disk
    why: str = ""  # of a standing that nobody asked for
    # Why a person has to agree before it is applied; empty where nobody has to.
    asks: tuple[str, ...] = ()


class Applied(Value):
    """What an apply did."""

    __module__ = "redoma"

    id: str
    changes: Sequence[Change] = ()
    # Paths that nobody chose but that a chosen one cannot be without.
    brought: tuple[str, ...] = ()
    held_back: tuple[Quarantined, ...] = ()
    notes: tuple[str, ...] = ()
    undoable: bool = True
    kept: int = 0  # bytes of what it replaced, kept for an undo


class Undone(Value):
    """What an undo took back."""

    __module__ = "redoma"

    id: str
    paths: Sequence[str] = ()
    notes: tuple[str, ...] = ()


class Freed(Value):
    """What was let go to make room."""

    ids: tuple[str, ...] = ()
    size: int = 0
