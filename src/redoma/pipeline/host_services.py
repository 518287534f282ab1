"""What the command line needs of the jail to serve a run: control, limits, terminal and pager."""

from __future__ import annotations

from redoma.jail.supervisor.control import Control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.profiles.limits import SIZES, read_limit
    from redoma.jail.supervisor.tty import fed, raw, size_of

__all__ = ["SIZES", "Control", "fed", "raw", "read_limit", "size_of"]

_HOMES = {
    "SIZES": "redoma.jail.profiles.limits",
    "read_limit": "redoma.jail.profiles.limits",
    "fed": "redoma.jail.supervisor.tty",
    "raw": "redoma.jail.supervisor.tty",
    "size_of": "redoma.jail.supervisor.tty",
}


def __getattr__(name: str) -> object:
    """Loads a service when somebody uses it: a plain run needs none but `Control`."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(__import__(_HOMES[name], fromlist=[name]), name)
