"""Who stands between a command and its hosts, in the order in which they are asked."""

from __future__ import annotations

from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.egress.requests import Handler
    from redoma.model.network import Reach
    from redoma.model.secret import Secret


def handlers(reach: Reach, secrets: tuple[Secret, ...] = ()) -> tuple[Handler, ...]:
    """The handlers of one gate; a mock stands alone, since nothing is behind it."""
    if reach.mock:
        from redoma.egress.mock import Mock

        return (Mock(reach.mocks),)
    row: list[Handler] = []
    if reach.cache:
        from redoma.base import own_directories
        from redoma.egress.cache import Cache
        from redoma.egress.cache_store import Store

        row.append(Cache(reach, Store(own_directories.made_cache()), private(reach, secrets)))
    if reach.credentials:
        from redoma.egress.credentials import Credentials

        # The last before the host: nobody else in the row sees what it adds.
        row.append(Credentials(tuple(zip(reach.credentials, secrets, strict=True))))
    return tuple(row)


def private(reach: Reach, secrets: tuple[Secret, ...]) -> dict[str, str]:
    """For each host one name for all that is added to its requests, and how."""
    found: dict[str, str] = {}
    for each, secret in zip(reach.credentials, secrets, strict=True):
        told = (found.get(each.host, ""), str(each.port), each.header, each.form, secret.reveal())
        found[each.host] = sha256("\0".join(told).encode()).hexdigest()
    return found
