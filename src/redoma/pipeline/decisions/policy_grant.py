"""What a policy does to a run: the grant of its level, made smaller where the policy says so."""

from __future__ import annotations

import os

from redoma.base.levels import LEVELS
from redoma.base.paths import is_below
from redoma.judge.policy.patterns import expanded, within
from redoma.model.errors import NoEngine
from redoma.model.grant import Apply, Grant, Guarantee, Home, Limits, NetworkMode, Syscalls, Writes
from redoma.model.value import fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Decision
    from redoma.model.policy import Policy

_MEGABYTE = 1 << 20
# Changes are held in a layer, or made at once to all but the protected paths.
_ABOUT_WRITES = frozenset((Guarantee.PROTECTED_PATHS, Guarantee.CHANGES_HELD))
_WRITES = (Writes.DIRECT, Writes.LAYER, Writes.MEMORY, Writes.NONE)
_APPLY = (Apply.ALWAYS, Apply.ON_END, Apply.ON_SUCCESS, Apply.ASK, Apply.NEVER)
_LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))
# Inside a sandbox these are copies or memory of its own: nothing of the machine's is there.
_REPLACED = frozenset("/etc /var /tmp /var/tmp /run /proc /sys /dev /boot".split())
# A limit, the section and key that set it, and the unit of the key.
LIMITS = (
    ("memory", "resources", "max_memory_mb", _MEGABYTE),
    ("cpu_percent", "resources", "max_cpu_percent", 1),
    ("wall_seconds", "resources", "max_execution_time_seconds", 1),
    ("open_files", "resources", "max_open_files", 1),
    ("processes", "resources", "max_processes", 1),
    ("file_size", "filesystem", "max_file_size_mb", _MEGABYTE),
    ("total_written", "filesystem", "max_total_size_mb", _MEGABYTE),
    ("changes", "filesystem", "max_changes", 1),
    ("depth", "filesystem", "max_depth", 1),
)


def tightened(
    grant: Grant, policy: Policy, decision: Decision | None = None, home: str | None = None
) -> Grant:
    """The grant under a policy and its decision."""
    if decision is not None and decision.isolation:
        grant = _raised(grant, decision.isolation)
    grant = _limited(grant, policy)
    grant = _networked(grant, policy)
    return _filed(grant, policy, home or os.environ.get("HOME") or os.path.expanduser("~"))


def _raised(grant: Grant, level: str) -> Grant:
    """At least the isolation of a level; what is tighter already stays."""
    from redoma.jail.profiles.profile import load

    if level in LEVELS and grant.level in LEVELS and _rank(grant.level) >= _rank(level):
        own = load(grant.level)
        # Attack: an engine that encloses nothing, asked for by name, under a level of any name.
        if grant.require >= own.require - _ABOUT_WRITES:
            return grant
        asked = own.grant(grant.workspace)
        return replace(grant, require=_both(grant, asked), prefer=_engines(grant, asked))
    asked = load(level).grant(grant.workspace)
    closed = NetworkMode.CLOSED in (grant.network, asked.network)
    strictest = Syscalls.STRICTEST in (grant.syscalls, asked.syscalls)
    return replace(
        grant,
        level=asked.level,
        writes=max(grant.writes, asked.writes, key=_WRITES.index),
        apply=max(grant.apply, asked.apply, key=_APPLY.index),
        home=Home.NOTHING if Home.NOTHING in (grant.home, asked.home) else grant.home,
        network=NetworkMode.CLOSED if closed else grant.network,
        network_grants=grant.network_grants and asked.network_grants,
        syscalls=Syscalls.STRICTEST if strictest else grant.syscalls,
        limits=least(grant.limits, asked.limits),
        require=_both(grant, asked),
        prefer=_engines(grant, asked),
    )


def _rank(level: str) -> int:
    return LEVELS.index(level)


def _both(grant: Grant, asked: Grant) -> frozenset[Guarantee]:
    """What either requires; what is required of writes is of those that will be made."""
    if grant.writes is asked.writes:
        return grant.require | asked.require
    writes = max((grant, asked), key=lambda each: _WRITES.index(each.writes))
    return (grant.require | asked.require) - _ABOUT_WRITES | (writes.require & _ABOUT_WRITES)


def _engines(grant: Grant, asked: Grant) -> tuple[str, ...]:
    return tuple(name for name in grant.prefer if name in asked.prefer) or asked.prefer


def least(one: Limits, other: Limits) -> Limits:
    """Of each limit the smaller one; where only one of both says something, that."""
    both = fields_of(other)
    made = {}
    for name, value in fields_of(one).items():
        known = [each for each in (value, both[name]) if each is not None]
        made[name] = min(known) if known else None
    return Limits(**made)


def _limited(grant: Grant, policy: Policy) -> Grant:
    """The user's own file sets a limit; a project's, and one above the user's, only lowers it."""
    changed: dict[str, int | float] = {}
    require = set(grant.require)
    users = policy
    while users.floor is not None:
        users = users.floor
    for limit, section, key, unit in LIMITS:
        value = getattr(getattr(policy, section), key)
        if value is None:
            continue
        wanted = value * unit
        now = getattr(grant.limits, limit)
        by_user = getattr(getattr(users, section), key) is not None
        changed[limit] = wanted if by_user or now is None else min(wanted, now)
        if limit == "cpu_percent":
            require.add(Guarantee.CPU_CAPPED)
    if not changed:
        return grant
    return replace(grant, limits=replace(grant.limits, **changed), require=frozenset(require))


def _networked(grant: Grant, policy: Policy) -> Grant:
    rules = policy.network
    if grant.network is NetworkMode.CLOSED or not rules.restricted:
        return grant
    if rules.inspect and not grant.reach.inspect:
        grant = replace(grant, reach=replace(grant.reach, inspect=True))
    only_local = rules.allowed_hosts is not None and _LOCAL.issuperset(rules.allowed_hosts)
    if only_local or rules.max_connections == 0:
        return replace(
            grant, network=NetworkMode.CLOSED, require=grant.require | {Guarantee.NETWORK_CLOSED}
        )
    from redoma.egress.grants import kept_to
    from redoma.egress.host_rules import read_cached

    made = kept_to(grant, rules.allowed_hosts, rules.blocked_ports, rules.max_connections)
    if made.reach.mock:
        return made
    hosts = tuple(dict.fromkeys((*made.reach.cache, *read_cached(rules.cache_hosts))))
    kept = {"cache_seconds": rules.cache_min_interval, "cache_ignores": rules.cache_ignored_headers}
    return replace(made, reach=replace(made.reach, cache=hosts, **kept))


def _filed(grant: Grant, policy: Policy, home: str) -> Grant:
    rules = policy.filesystem
    if rules.protected_names:
        names = dict.fromkeys((*grant.protected, *rules.protected_names))
        grant = replace(grant, protected=tuple(names))
    workspace = grant.workspace
    root = policy.root or workspace
    hidden = [*grant.hidden]
    for pattern in rules.blocked_paths:
        for path in _existing(expanded(pattern, root, home)):
            covers = path == workspace or is_below(workspace, path)
            if path not in _REPLACED and not covers:
                hidden.append(path)
    writes, writable = grant.writes, grant.writable
    if rules.allowed_paths is not None:
        allowed = [expanded(each, root, home) for each in rules.allowed_paths]
        writable = tuple(p for p in writable if any(within(p, each) for each in allowed))
        more = [path for each in allowed for path in _existing(each) if path != workspace]
        held = writes in (Writes.DIRECT, Writes.LAYER)
        if held and not any(within(workspace, each) for each in allowed):
            writes = Writes.NONE
        inside = [p for p in more if is_below(p, workspace) and writes is Writes.NONE]
        outside = [
            p
            for p in more
            if policy.floor is None
            and not within(p, workspace)
            and not within(workspace, p)
            and p not in _REPLACED
        ]
        writable = tuple(dict.fromkeys((*writable, *inside, *outside)))
    if (writes, writable, tuple(hidden)) == (grant.writes, grant.writable, grant.hidden):
        return grant
    made = replace(grant, writes=writes, writable=writable, hidden=tuple(dict.fromkeys(hidden)))
    return with_engines_that_hide(made) if made.hidden != grant.hidden else made


def with_engines_that_hide(grant: Grant) -> Grant:
    """Engines that show the machine's own tree cannot leave a part of it out."""
    from redoma.jail.engines.registry import declared

    engines = tuple(name for name in grant.prefer if declared(name).hides_paths)
    if grant.prefer and not engines:
        why = "shows what the policy blocks"
        raise NoEngine(required=("blocked-paths",), tried=dict.fromkeys(grant.prefer, why))
    return replace(grant, prefer=engines)


def _existing(pattern: str) -> list[str]:
    """The real paths that a pattern names now; what comes later is held by the judge alone."""
    if set("*?").isdisjoint(pattern):
        paths = [pattern] if os.path.exists(pattern) else []
    else:
        from glob import escape, iglob

        plain = escape(pattern).replace("[*]", "*").replace("[?]", "?")
        paths = sorted(iglob(plain, recursive=True, include_hidden=True))[:1000]
    return list(dict.fromkeys(os.path.realpath(path) for path in paths))
