"""What a step's constraints do to its run: they make the grant smaller, never larger."""

from __future__ import annotations

import os

from redoma.base.paths import is_within
from redoma.model.decision import Verdict
from redoma.model.grant import Apply, Guarantee, Limits, NetworkMode, Writes
from redoma.model.message import Message
from redoma.model.network import Reach
from redoma.model.value import replace
from redoma.pipeline.decisions.policy_grant import least, with_engines_that_hide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.grant import Grant
    from redoma.model.intent import StepConstraints
    from redoma.model.network import HostRule

_MEGABYTE = 1 << 20
CONSTRAINTS = "constraints"


def narrowed(grant: Grant, held_to: StepConstraints) -> Grant:
    """The grant under the constraints of a step."""
    grant = replace(grant, limits=least(grant.limits, _limits(held_to)))
    if grant.apply is Apply.ON_END:
        # A step is done or not done: what is tried again finds the workspace as it was before.
        grant = replace(grant, apply=Apply.ON_SUCCESS)
    grant = _networked(grant, held_to)
    if held_to.allowed_write_paths is not None:
        grant = _written(grant, _resolved(held_to.allowed_write_paths, grant.workspace))
    hidden = [
        path
        for path in _resolved(held_to.forbidden_paths, grant.workspace)
        if os.path.exists(path) and path not in grant.hidden
    ]
    if not hidden:
        return grant
    return with_engines_that_hide(replace(grant, hidden=(*grant.hidden, *hidden)))


def refuse_outside(decision: Decision, changes: Changes, held_to: StepConstraints) -> Decision:
    """The decision on what a step changed: a change where it may not make one is a no.

    What lies in an overlay is not real yet, so here nothing has to be taken back.
    """
    reasons = tuple(outside(changes, held_to))
    if not reasons:
        return decision
    return replace(decision, verdict=Verdict.DENY, because=reasons, rule=CONSTRAINTS)


def outside(changes: Changes, held_to: StepConstraints) -> list[str]:
    """Each change that the constraints do not allow, with the constraint that says so."""
    allowed = held_to.allowed_write_paths
    may = None if allowed is None else _resolved(allowed, changes.workspace)
    never = _resolved(held_to.forbidden_paths, changes.workspace)
    found: list[str] = []
    for item in changes.items:
        for path in dict.fromkeys((item.path, item.renamed_from)):
            whole = os.path.join(changes.workspace, path)
            if not path:
                continue
            if any(is_within(whole, each) for each in never):
                found.append(
                    Message("it changed {path}, which forbidden_paths keeps from it", path=path)
                )
            elif may is not None and not any(is_within(whole, each) for each in may):
                found.append(
                    Message("it changed {path}, which is not among allowed_write_paths", path=path)
                )
    return found


def _limits(held_to: StepConstraints) -> Limits:
    memory, size = held_to.max_memory_mb, held_to.max_file_size_mb
    beside = held_to.max_subprocesses
    return Limits(
        wall_seconds=held_to.max_execution_time,
        memory=None if memory is None else memory * _MEGABYTE,
        file_size=None if size is None else size * _MEGABYTE,
        processes=None if beside is None else beside + 1,
    )


def _networked(grant: Grant, held_to: StepConstraints) -> Grant:
    hosts = held_to.allowed_hosts
    if grant.network is NetworkMode.CLOSED or (
        hosts is None and held_to.allow_network is not False
    ):
        return grant
    kept: list[HostRule] = []
    if hosts and held_to.allow_network is not False:
        from redoma.egress.grants import covers, gated
        from redoma.egress.host_rules import of_anyone, read

        asked = read(hosts).hosts
        if grant.reach.anyone:
            # Attack: a plan that names this machine, or says itself where a host is.
            asked = tuple(rule for rule in asked if of_anyone(rule))
        if asked and (grant.network is NetworkMode.OPEN or grant.reach.anyone):
            # What holds for every host holds for these: ports, numbers, a mock, reading requests.
            return gated(grant, replace(grant.reach, hosts=asked, anyone=False))
        for rule in grant.reach.hosts:
            if any(covers(each, rule) for each in asked):
                kept.append(rule)
            kept += [each for each in asked if covers(rule, each) and each not in kept]
    if kept:
        return replace(grant, reach=replace(grant.reach, hosts=tuple(kept)))
    require = grant.require - {Guarantee.NETWORK_ALLOW_LISTED} | {Guarantee.NETWORK_CLOSED}
    return replace(grant, network=NetworkMode.CLOSED, reach=Reach(), require=require)


def _written(grant: Grant, allowed: list[str]) -> Grant:
    """In an overlay everything may be written, and what may not be is refused before it is real."""
    writable = tuple(path for path in grant.writable if any(is_within(path, a) for a in allowed))
    writable += tuple(
        a
        for a in allowed
        if a not in writable and any(is_within(a, path) for path in grant.writable)
    )
    if grant.writes is not Writes.DIRECT:
        return replace(grant, writable=writable)
    if any(is_within(grant.workspace, each) for each in allowed):
        return replace(grant, writable=writable)
    inside = tuple(a for a in allowed if is_within(a, grant.workspace) and os.path.exists(a))
    both = tuple(dict.fromkeys((*writable, *inside)))
    return replace(grant, writes=Writes.NONE, writable=both)


def _resolved(paths: tuple[str, ...], workspace: str) -> list[str]:
    return [os.path.realpath(os.path.join(workspace, path)) for path in paths]
