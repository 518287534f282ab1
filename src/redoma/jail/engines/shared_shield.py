"""Holds what little can be held of a directory that everybody writes, as /tmp."""

from __future__ import annotations

import os

from redoma.jail.engines.shield import Raised, Shield
from redoma.jail.protect.run_journal import ProtectedState
from redoma.model.access import SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.access import Grant
    from redoma.model.result import HeldBack


class SharedShield(Shield):
    """No project of anybody's is protected here; sockets and pipes are covered."""

    def raised(self, hidden: tuple[str, ...] = ()) -> Raised:
        with self.lock:
            self.survey.look()
            return SharedRaised(self, {}, {}, hidden)


class SharedRaised(Raised):
    """The protection of one run in a directory that others change meanwhile."""

    def settle(self, keep_in: Callable[[], str]) -> tuple[HeldBack, ...]:
        """Takes back only what was made where something is hidden."""
        if not any(map(os.path.lexists, self.awaited)):
            return ()
        from redoma.jail.protect.quarantine import Sweep

        with self.shield.lock:
            survey = self.shield.survey
            survey.look()
            state = ProtectedState(
                root=self.shield.root,
                known=dict(survey.protected()),
                repositories=survey.git_directories(),
                awaited=self.awaited,
                allowed=self.shield.allowed,
            )
            return Sweep(survey, state, keep_in=keep_in()).run()


def shield_for(path: str, grant: Grant, *, as_nobody: bool) -> Shield:
    """The protection of one directory that may be written under a grant."""
    allowed = tuple(place for place in grant.writable if place != path)
    kind = SharedShield if path in SHARED else Shield
    return kind(path, allowed, grant.protected, as_nobody=as_nobody)
