"""Whether something may happen, and because of what."""

from __future__ import annotations

from enum import IntEnum

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.risk import Assessment


class Verdict(IntEnum):
    """What is to happen; the strictest of several is their maximum."""

    __module__ = "redoma"

    ALLOW = 0
    LOG = 1
    CONFIRM = 2
    DENY = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class Decision(Value):
    """A verdict with its reasons and the policy that gave it."""

    __module__ = "redoma"

    verdict: Verdict
    because: tuple[str, ...]
    policy: str
    assessment: Assessment
    level: str = ""
    """The level in the words of the pack that judged: `critical` is `terminal`'s for elevated."""
    rule: str = ""
    """The rule of the policy that gave the verdict."""
    isolation: str = ""
    """The isolation level that the policy asks for, where it asks for one."""
    preview: str = ""
    """Why a dry run comes first, where the policy wants one."""
    multiple_files: bool = False
    """Whether more than one file is affected, as far as the text tells."""
