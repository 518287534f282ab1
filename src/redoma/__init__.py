"""A guard between an AI agent and the machine: it understands a command, judges it, says why.

Public names load when they are first used, so that a door pays only for what it touches.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.flow.check import check as check
    from redoma.model.decision import Decision as Decision
    from redoma.model.decision import Verdict as Verdict
    from redoma.model.risk import Assessment as Assessment
    from redoma.model.risk import Finding as Finding
    from redoma.model.risk import Risk as Risk

__version__ = "0.1.0"
__all__ = ["Assessment", "Decision", "Finding", "Risk", "Verdict", "__version__", "check"]

_HOMES = {
    "Assessment": "redoma.model.risk",
    "Decision": "redoma.model.decision",
    "Finding": "redoma.model.risk",
    "Risk": "redoma.model.risk",
    "Verdict": "redoma.model.decision",
    "check": "redoma.flow.check",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'redoma' has no attribute {name!r}")
    found = globals()[name] = getattr(__import__(home, fromlist=[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
