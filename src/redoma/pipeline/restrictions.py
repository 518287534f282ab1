"""What a sandbox takes away beside its level: hidden paths, and the right to start processes."""

from __future__ import annotations

import os

from redoma.base.paths import is_within
from redoma.model.access import SHARED
from redoma.model.errors import UsageError
from redoma.model.guarantee import Guarantee
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.model.access import Grant


class Restrictions:
    """Hidden paths hold below whatever is given; `subprocesses` is how many may run at once."""

    def __init__(self, hide: Sequence[str] | None, subprocesses: int | None) -> None:
        # A name that is not there yet is hidden too: what appears there is taken away again.
        self._hide = tuple(dict.fromkeys(map(_real, hide or ())))
        if "/" in self._hide:
            raise UsageError("hide: without / there is nothing left to run")
        self._subprocesses = subprocesses

    def applied_to(self, grant: Grant) -> Grant:
        """The grant without what is taken away."""
        if self._subprocesses is not None:
            most = self._subprocesses + 1  # the call's own process is one of them
            now = grant.limits.processes
            limits = grant.limits
            if self._subprocesses and (now is None or most < now):
                limits = replace(limits, processes=most)
            grant = replace(grant, subprocesses=self._subprocesses > 0, limits=limits)
        if not set(SHARED).isdisjoint(grant.writable):
            grant = replace(grant, require=grant.require - {Guarantee.PROTECTED_PATHS})
        hidden = (*self._hide, *_own(grant))
        covers = [h for h in hidden if is_within(grant.workspace, h)]
        if covers:
            raise UsageError(
                "hide: {path} holds the workspace {workspace}",
                path=covers[0],
                workspace=grant.workspace,
            )
        new = tuple(path for path in hidden if path not in grant.hidden)
        if not new:
            return grant
        from redoma.pipeline.decisions.policy_grant import with_engines_that_hide

        return with_engines_that_hide(replace(grant, hidden=(*grant.hidden, *new)))


def _own(grant: Grant) -> list[str]:
    """Our own directories, where something that was given lies around them.

    Attack: whoever may write a whole home could write the audit log, approvals and policies in it.
    """
    from redoma.base import own_directories
    from redoma.pipeline.decisions.policies import user_file

    given = (*grant.writable, *grant.readable)
    # In a workspace the cache is only read: what a call needs may lie there.
    roots = (grant.workspace, *given)
    kept = [
        path for path in (_state(), own_directories.config(), os.path.dirname(user_file())) if path
    ]
    found = [path for path in map(_real, kept) if any(is_within(path, root) for root in roots)]
    if given:
        cache = _real(own_directories.cache())
        found += [cache] if any(is_within(cache, each) for each in given) else []
    return list(dict.fromkeys(found))


def _state() -> str:
    from redoma.base import own_directories
    from redoma.model.errors import StateUnavailable

    try:
        return own_directories.state()
    except StateUnavailable:
        return ""  # who writes there says so


def _real(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))
