"""Who stands between a command and its hosts, in the order in which they are asked."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.egress.requests import Handler
    from redoma.model.network import Reach


def handlers(reach: Reach) -> tuple[Handler, ...]:
    """The handlers of one gate; a mock stands alone, since nothing is behind it."""
    if reach.mock:
        from redoma.jail.egress.mock import Mock

        return (Mock(reach.mocks),)
    return ()
