"""What a command was kept from while it ran, as SANDBOX_003 tells it.

Whoever looked on saw what was refused. Not all of it matters: an interpreter that cannot keep its
compiled files goes on without. So it counts where the command failed, and where it complained about
just that, was asked to do just that, or said nothing at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from redoma import Outcome, Result, facts
from redoma.base.paths import is_within
from redoma.dialects.actions.refusals import FILES, NETWORK, Refusal

_NO_FILES = ("/dev", "/proc", "/sys")


def violation(result: Result, command: str, workspace: str, cwd: str) -> dict[str, object] | None:
    """The error for a run that failed because of what it may not do; None for any other run."""
    ended = result.exit
    if ended is None or result.ok or result.outcome not in (Outcome.EXITED, Outcome.SIGNALLED):
        return None
    unreached = next((each for each in result.network_calls or () if not each.allowed), None)
    if unreached is not None:
        return _told(NETWORK, f"reach {unreached.target}", f"allowed_hosts: {unreached.why}")
    said = (ended.stdout + ended.stderr).decode("utf-8", "replace")
    for path, named in _written(result, workspace):
        if not ended.stderr.strip() or path in said or (len(named) > 1 and named in said):
            return _told(FILES, f"write {path}", f"allowed_paths: {workspace}")
    reached = [each.what for each in ended.refused if each.kind == "network"]
    if not reached or result.network_calls is not None or not _closed(result):
        return None
    hosts = _hosts(command, cwd)
    if hosts is None and ended.stderr.strip() and not any(_named(each, said) for each in reached):
        return None
    return _told(NETWORK, f"reach {hosts or reached[-1]}", "network: closed at this level")


def _told(kind: str, attempted: str, constraint: str) -> dict[str, object]:
    return Refusal.VIOLATION.told(
        violation_type=kind, attempted_action=attempted, constraint=constraint
    )


def _written(result: Result, workspace: str) -> Iterator[tuple[str, str]]:
    """What was to be written outside of the workspace, in directories that are there."""
    assert result.exit is not None
    for each in result.exit.refused:
        if each.kind != "write" or any(is_within(each.what, p) for p in (workspace, *_NO_FILES)):
            continue
        if os.path.isdir(os.path.dirname(each.what)):
            yield each.what, each.named


def _closed(result: Result) -> bool:
    held = result.enforcement.held if result.enforcement is not None else frozenset()
    return any(guarantee.value == "network-closed" for guarantee in held)


def _hosts(command: str, cwd: str) -> str | None:
    """The hosts that a command names; None for one that has nothing to do with a network."""
    found = [fact for fact in facts(command, cwd=cwd) if fact.effect.leaves_machine]
    named = [t.text for fact in found for t in fact.targets if t.place.value == "host"]
    return ", ".join(dict.fromkeys(named)) if found else None


def _named(address: str, said: str) -> bool:
    return address.rpartition(":")[0] in said
