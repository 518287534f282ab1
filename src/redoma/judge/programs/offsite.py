"""Shared by programs of other machines: command lines run there, and grants of everything."""

from __future__ import annotations

import re

from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.call import Call

_ALL = re.compile(
    r"AdministratorAccess|roles/owner|^(?:--role=)?Owner$|cluster-admin|\"Action\"\s*:\s*\"\*\""
)


def all_rights(call: Call, deed: str) -> None:
    """A grant of every right there is, said in one of the clouds' own names for it."""
    if deed != "grant":
        return
    for word in call.args:
        found = _ALL.search(word)
        if found:
            call.fact(
                Effect.PRIVILEGE,
                tags=("grant", "administrator"),
                at=word.span,
                detail=found.group(),
            )


def remote_shell(call: Call, text: Arg, where: str) -> None:
    """A command line that runs on another machine: judged like one here, marked as elsewhere."""
    walker = call.walker
    before = walker.elsewhere
    walker.elsewhere = where
    try:
        call.run_shell(text)
    finally:
        walker.elsewhere = before
