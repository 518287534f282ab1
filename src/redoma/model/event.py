"""What is written down: one event for each thing that was judged, asked, run or changed."""

from __future__ import annotations

from enum import Enum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(Enum):
    """What happened."""

    JUDGED = "judged"
    ASKED = "asked"
    ANSWERED = "answered"
    REFUSED = "refused"  # nothing ran: policy, a rate limit, or no engine
    RUN_STARTING = "run-starting"
    RUN_ENDED = "run-ended"
    INTERRUPTED = "interrupted"  # a start whose end nobody wrote
    PREVIEWED = "previewed"
    APPLY_STARTING = "apply-starting"
    APPLIED = "applied"
    APPLY_FAILED = "apply-failed"  # nothing was applied; or it says what else
    DISCARDED = "discarded"
    UNDO_STARTING = "undo-starting"
    UNDONE = "undone"
    UNDO_FAILED = "undo-failed"
    VIOLATION = "violation"
    PERMISSION_CHANGED = "permission-changed"
    NETWORK = "network"
    PLAN_STARTING = "plan-starting"
    PLAN_ENDED = "plan-ended"
    SESSION_STARTED = "session-started"  # a terminal that can be shared
    GUEST_JOINED = "guest-joined"
    GUEST_LEFT = "guest-left"
    COMMAND_EXECUTED = "command-executed"  # in a shared terminal, and a guest had typed
    CONTAINER_RESTARTED = "container-restarted"
    SESSION_ENDED = "session-ended"
    RETAINED = "retained"  # older rows were let go; says up to where, and their last link

    __hash__ = object.__hash__


OWN_WORDS = frozenset(
    "verdict risk level limits rule rules outcome mode engine writes network held choice "
    "remember".split()
)
"""Details whose values are words of ours: nobody's secret can stand there."""


class Event(Value):
    """One thing that happened; `run` ties together what belongs to one request."""

    kind: Kind
    run: str
    session: str = ""
    caller: str = ""
    command: str = ""
    # JSON only: strings, numbers, booleans, None, lists and dicts of these.
    details: Mapping[str, object] = {}
