"""Actions: the short words by which cards say what a call does, and how unknown ones are told."""

from __future__ import annotations

import re

from redoma.model.decision import Effect, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.judge.interpret.invocation import Invocation

# From harmless to worst: when a call can be read in several ways, the worst reading counts.
ACTIONS: dict[str, tuple[Effect, tuple[str, ...]]] = {
    "read": (Effect.READS, ()),
    "setup": (Effect.READS, ()),
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
    "migrate": (Effect.SCHEMA_CHANGE, ("migration",)),
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
_SEVERITY = {name: rank for rank, name in enumerate(ACTIONS)}


def worst(actions: list[str]) -> str:
    """The most serious of several actions."""
    return max(actions, key=lambda action: _SEVERITY.get(action, _SEVERITY["unknown"]))


def do(call: Invocation, action: str, *, detail: str = "") -> None:
    """Notes the fact behind an action."""
    if action == "migrate" and names_production(call):
        action = "schema"
    effect, tags = ACTIONS[action]
    call.fact(effect, tags=tags, detail=detail)


_PRODUCTION = re.compile(r"(?:^|[^a-z])(?:prod|production|live|staging)(?:[^a-z]|$)", re.IGNORECASE)


def names_production(call: Invocation) -> bool:
    """Whether a word or a variable says that it is not the database of a developer's machine."""
    from redoma.judge.interpret.hosts import host_target

    for word in (*call.args, *call.environment.values()):
        if _PRODUCTION.search(word):
            return True
        address = str(word).rpartition("=")[2]
        if "://" in address and not address.startswith(("file:", "sqlite:")):
            return host_target(address)[0].place is not Place.LOOPBACK
    return False


_ENDING = (
    "delete|destroy|purge|drop|terminate|wipe|revoke|uninstall|erase|nuke|truncate|flush|flushall|"
    "undeploy|teardown|deprovision|deregister|unpublish|decommission|obliterate|expunge"
)
# `delete`, `delete-user`, `user:delete`, `users_delete`, `DeleteInstance`; never a file's name.
_DESTROYS = re.compile(
    rf"(?:{_ENDING})$|[\w:-]+[:_-](?:{_ENDING}|fresh)(?:-all)?$|"
    r"[\w-]+:(?:reset|remove|rm|clear|disable|unset|cancel|rollback)$|"
    r"(?:delete|destroy|purge|terminate|revoke|wipe|remove-all|uninstall|drop-(?:all|table|"
    r"database|schema|index|collection))(?:[:_-][\w-]+)?$|"
    r"(?:Delete|Destroy|Terminate|Purge|Drop|Revoke)[A-Z]\w*$"
)
_NAMED_SO = re.compile(r"(?:.*[-_])?(?:delete|destroy|purge|wipe|nuke|terminate)(?:[-_].*)?$")
_DEEPEST = 3


def says_it_destroys(operands: Sequence[str]) -> bool:
    """Whether one of the first words, where subcommands stand, is a verb of destruction."""
    return any(len(word) < 48 and _DESTROYS.match(word) for word in operands[:_DEEPEST])


def is_named_so(program: str) -> bool:
    """Whether a program's own name is such a verb: `amqp-delete-queue`."""
    return len(program) < 256 and _NAMED_SO.match(program) is not None
