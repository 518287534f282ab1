"""Deeds: the short words that cards use for what a subcommand does, and the facts behind them."""

from __future__ import annotations

from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

# From harmless to worst: when a call can be read in several ways, the worst reading counts.
DEEDS: dict[str, tuple[Effect, tuple[str, ...]]] = {
    "read": (Effect.READS, ()),
    "query": (Effect.NETWORK, ("query",)),
    "fetch": (Effect.NETWORK, ("download",)),
    "cache": (Effect.WRITES, ("cache",)),
    "write": (Effect.WRITES, ("project",)),
    "build": (Effect.EXECUTES, ("project",)),
    "sync": (Effect.INSTALLS, ("locked",)),
    "unknown": (Effect.UNKNOWN, ("subcommand",)),
    "trial": (Effect.REMOTE, ("trial",)),
    "config": (Effect.WRITES, ("settings",)),
    "install": (Effect.INSTALLS, ()),
    "desktop": (Effect.EXECUTES, ("desktop",)),
    "serve": (Effect.NETWORK, ("listen",)),
    "container": (Effect.EXECUTES, ("container",)),
    "commit": (Effect.WRITES, ("repository",)),
    "push": (Effect.PUBLISHES, ("branch",)),
    "remote": (Effect.REMOTE, ()),
    "service": (Effect.SYSTEM, ("service",)),
    "system": (Effect.SYSTEM, ()),
    "run": (Effect.EXECUTES, ("package",)),
    "exec": (Effect.EXECUTES, ("arbitrary",)),
    "secret": (Effect.SECRETS, ()),
    "login": (Effect.SECRETS, ("credentials",)),
    "kill": (Effect.KILLS, ()),
    "remove": (Effect.DELETES, ("project",)),
    "uninstall": (Effect.DELETES, ("package",)),
    "discard": (Effect.DELETES, ("uncommitted",)),
    "history": (Effect.REWRITES_HISTORY, ()),
    "schema": (Effect.SCHEMA_CHANGE, ()),
    "publish": (Effect.PUBLISHES, ()),
    "persist": (Effect.PERSISTS, ()),
    "grant": (Effect.PRIVILEGE, ("grant",)),
    "security": (Effect.SYSTEM, ("security",)),
    "destroy": (Effect.REMOTE, ("destroy",)),
    "forward": (Effect.NETWORK, ("tunnel",)),
    "device": (Effect.SYSTEM, ("device",)),
    "root": (Effect.PRIVILEGE, ()),
    "drop": (Effect.SCHEMA_CHANGE, ("destroy",)),
    "wreck": (Effect.REMOTE, ("destroy", "wholesale")),
    "power": (Effect.SYSTEM, ("power",)),
}
_SEVERITY = {name: rank for rank, name in enumerate(DEEDS)}


def worst(deeds: list[str]) -> str:
    """The most serious of several deeds."""
    return max(deeds, key=lambda deed: _SEVERITY.get(deed, _SEVERITY["unknown"]))


def do(call: Call, deed: str, *, detail: str = "") -> None:
    """Notes the fact behind a deed."""
    effect, tags = DEEDS[deed]
    call.fact(effect, tags=tags, detail=detail)
