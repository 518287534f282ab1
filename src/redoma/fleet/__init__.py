"""The same calls over a cluster: commands and functions run on the nodes of Ray, each sandboxed.

>>> import redoma.fleet
>>> redoma.fleet.FleetItem(command="make test").command
'make test'
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.fleet.async_fleet import AsyncFleet as AsyncFleet
    from redoma.fleet.fleet import Fleet as Fleet
    from redoma.fleet.items import FleetItem as FleetItem
    from redoma.fleet.items import ItemOutcome as ItemOutcome
    from redoma.fleet.items import ItemResult as ItemResult
    from redoma.fleet.items import NoNode as NoNode
    from redoma.fleet.items import ReturnedChanges as ReturnedChanges

__all__ = [
    "AsyncFleet",
    "Fleet",
    "FleetItem",
    "ItemOutcome",
    "ItemResult",
    "NoNode",
    "ReturnedChanges",
]

_HOMES = {
    "AsyncFleet": "redoma.fleet.async_fleet",
    "Fleet": "redoma.fleet.fleet",
    **dict.fromkeys(__all__[2:], "redoma.fleet.items"),
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'redoma.fleet' has no attribute {name!r}")
    found = globals()[name] = getattr(__import__(home, fromlist=[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
