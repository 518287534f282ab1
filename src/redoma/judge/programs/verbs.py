"""Tells from its words alone whether a command of an unknown program would destroy something."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
