"""Turns a grant into one whose network has a gate."""

from __future__ import annotations

from redoma.model.access import Grant, Network, Syscalls
from redoma.model.errors import UsageError
from redoma.model.guarantee import Guarantee
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.network import Reach

_WITHOUT = ("strict", "maximum")


def gated(grant: Grant, reach: Reach) -> Grant:
    """The same grant with these hosts, and no others; it runs only where a gate holds that."""
    if grant.level in _WITHOUT or grant.syscalls is Syscalls.STRICTEST:
        raise UsageError(
            f"the level {grant.level} has no network, and no host can be granted in it",
            hint="--level standard",
        )
    require = grant.require - {Guarantee.NETWORK_CLOSED} | {Guarantee.NETWORK_ALLOW_LISTED}
    return replace(grant, network=Network.GATED, reach=reach, require=require)
