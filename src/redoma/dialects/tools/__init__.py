"""Tools under constraints: `SandboxExecutor`, `SandboxedTool`, profiles, and what to use instead.

The names of `sandbox.executor` and `sandbox.constraints`, the interface that this translates, are
all here. They load when they are first used: a tool's own process needs only some of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma import SandboxTimeout as SandboxTimeout
    from redoma import SandboxViolation as SandboxViolation
    from redoma.dialects.tools.constraints import Alternative as Alternative
    from redoma.dialects.tools.constraints import SandboxConstraints as SandboxConstraints
    from redoma.dialects.tools.constraints import (
        adapt_on_sandbox_violation as adapt_on_sandbox_violation,
    )
    from redoma.dialects.tools.constraints import get_filesystem_only as get_filesystem_only
    from redoma.dialects.tools.constraints import get_permissive as get_permissive
    from redoma.dialects.tools.constraints import get_restricted as get_restricted
    from redoma.dialects.tools.constraints import get_safe_defaults as get_safe_defaults
    from redoma.dialects.tools.executor import SandboxedTool as SandboxedTool
    from redoma.dialects.tools.executor import SandboxExecutor as SandboxExecutor

__all__ = [
    "Alternative",
    "SandboxConstraints",
    "SandboxExecutor",
    "SandboxTimeout",
    "SandboxViolation",
    "SandboxedTool",
    "adapt_on_sandbox_violation",
    "get_filesystem_only",
    "get_permissive",
    "get_restricted",
    "get_safe_defaults",
]
_HERE = "redoma.dialects.tools"
_HOMES = {
    "Alternative": f"{_HERE}.constraints",
    "SandboxConstraints": f"{_HERE}.constraints",
    "SandboxExecutor": f"{_HERE}.executor",
    "SandboxTimeout": "redoma",
    "SandboxViolation": "redoma",
    "SandboxedTool": f"{_HERE}.executor",
    "adapt_on_sandbox_violation": f"{_HERE}.constraints",
    "get_filesystem_only": f"{_HERE}.constraints",
    "get_permissive": f"{_HERE}.constraints",
    "get_restricted": f"{_HERE}.constraints",
    "get_safe_defaults": f"{_HERE}.constraints",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {_HERE!r} has no attribute {name!r}")
    found = globals()[name] = getattr(__import__(home, fromlist=[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
