"""Work on the machine's own /tmp: held in a layer, of which only what changed becomes real."""

from __future__ import annotations

import os

from redoma.model.access import Grant, Writes
from redoma.model.errors import EngineFailed
from redoma.model.guarantee import Guarantee
from redoma.model.value import replace

PLACE = "/tmp"


def with_temporary(grant: Grant) -> Grant:
    """The grant over /tmp, in which the workspace is written directly.

    Attack: /tmp is everybody's, with the sockets of terminals and key agents in it. In a layer
    they lead nowhere, nobody else's file is written before the command has ended, and what it did
    to /tmp can be taken back.
    """
    if os.stat(PLACE).st_uid != os.geteuid():
        # Without one, all of it would be copied; and nobody else's files could be.
        from redoma.model.remedies import Help, Remedy

        raise EngineFailed(
            f"{PLACE} belongs to another user, and the kernel lets only its owner hold a layer",
            hint=Remedy(help=Help.WRITE),
        )
    workspace = grant.workspace
    beside = () if workspace.startswith(f"{PLACE}/") else (workspace,)
    return replace(
        grant,
        workspace=PLACE,
        writes=Writes.LAYER,
        writable=tuple(dict.fromkeys((*beside, *grant.writable))),
        require=grant.require | {Guarantee.CHANGES_HELD},
    )
