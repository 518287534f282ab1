"""What the caller of a sandbox asked for by name and what it takes away, beside its level."""

from __future__ import annotations

import os

from redoma.base.paths import is_below, is_within
from redoma.jail.engines.registry import declared, engine_name
from redoma.model.errors import EngineFailed, UsageError
from redoma.model.grant import SHARED, Apply, Grant, Guarantee, Limits, NetworkMode, Writes
from redoma.model.message import Message
from redoma.model.network import Reach
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from redoma.model.grant import SecretGrant
    from redoma.model.policy import Policy

    F = TypeVar("F", bound=Callable[..., None])

PLACE = "/tmp"


def with_temporary(grant: Grant) -> Grant:
    """The grant over /tmp, in which the workspace is written directly.

    Attack: /tmp is everybody's, with the sockets of terminals and key agents in it. In an overlay
    they lead nowhere, nobody else's file is written before the command has ended, and what it did
    to /tmp can be taken back.
    """
    if os.stat(PLACE).st_uid != os.geteuid():
        # Without one, all of it would be copied; and nobody else's files could be.
        from redoma.model.remedies import Help, Remedy

        raise EngineFailed(
            "{place} belongs to another user, and the kernel lets only its owner hold an overlay",
            place=PLACE,
            hint=Remedy(help=Help.WRITE),
        )
    workspace = grant.workspace
    beside = () if is_below(workspace, PLACE) else (workspace,)
    return replace(
        grant,
        workspace=PLACE,
        writes=Writes.LAYER,
        writable=tuple(dict.fromkeys((*beside, *grant.writable))),
        require=grant.require | {Guarantee.CHANGES_HELD},
    )


_LAST_PORT = 65535
_ALL = 1 << 50
_NONE = Limits()
# What nobody can hold where none of these limits is left.
_CAPS = (
    (("memory",), (Guarantee.MEMORY_CAPPED, Guarantee.MEMORY_WATCHED)),
    (("processes",), (Guarantee.PROCESSES_CAPPED,)),
    (("total_written", "keep_free"), (Guarantee.DISK_CAPPED, Guarantee.DISK_WATCHED)),
    (("cpu_seconds",), (Guarantee.CPU_WATCHED,)),
    (("cpu_percent",), (Guarantee.CPU_CAPPED,)),
)


class Overrides:
    """What the caller of a sandbox asked for by name."""

    def __init__(  # noqa: PLR0913 — each by its own name
        self,
        engine: str,
        *,
        limits: Mapping[str, int | float | None],
        at_most: Mapping[str, int | float | None] | None = None,
        writable: tuple[str, ...],
        readable: tuple[str, ...],
        env: tuple[tuple[str, str], ...],
        secrets: tuple[SecretGrant, ...] = (),
        reach: Reach | None,
        direct: bool,
        temporary: bool,
        apply: str,
        undo: bool,
    ) -> None:
        self._engine = engine_name(engine) if engine else engine
        self._reach = reach
        self._direct = direct
        self.temporary = temporary
        self._apply = _when(apply)
        self.undo = undo
        self._limits = limits
        self._at_most = at_most or {}
        self.writable = writable
        self._readable = readable
        self._env = env
        self.granted = secrets

    def with_env(self, env: Mapping[str, str]) -> Overrides:
        """The same with more environment variables; of a name given twice this one counts."""
        from copy import copy

        made = copy(self)
        made._env = tuple((dict(self._env) | dict(env)).items())
        return made

    def secrets(self) -> tuple[str, ...]:
        """Given variables whose names say that they are secret, and what a gate adds."""
        added = self._reach.credentials if self._reach is not None else ()
        if not self._env and not added:
            return ()
        from redoma.pipeline.secrets import texts_of
        from redoma.vault.exact import own_values

        return (*own_values(dict(self._env)), *texts_of(added))

    def when(self, grant: Grant) -> Grant:
        """The grant with the moment at which changes become real, where that was said by name."""
        if self._apply is None:
            return grant
        # Attack: an agent says `always` where the policy's isolation wants a person to look first.
        looked_at = (Apply.ASK, Apply.NEVER)
        if grant.apply in looked_at and self._apply not in looked_at:
            return grant
        return replace(grant, apply=self._apply)

    def _taken_off(self, limits: Limits) -> frozenset[Guarantee]:
        found: set[Guarantee] = set()
        for names, guarantees in _CAPS:
            asked = any(self._limits.get(name, 1) is None for name in names)
            if asked and all(getattr(limits, name) is None for name in names):
                found.update(guarantees)
        return frozenset(found)

    def applied_to(self, grant: Grant) -> Grant:
        """The grant with all that was asked for."""
        limits: Limits = grant.limits
        if self._at_most:
            from redoma.pipeline.decisions.policy_grant import least

            limits = least(limits, replace(_NONE, **self._at_most))
        require = grant.require
        writes = grant.writes
        if self._direct and writes is Writes.LAYER:
            writes = Writes.DIRECT
            require -= {Guarantee.CHANGES_HELD}
        if self._limits:
            limits = replace(limits, **self._limits)
        if self._limits.get("output", 1) is None:
            limits = replace(limits, output=_ALL)  # asked for: else no more than some is kept
        # A limit that was taken off by name is held by nobody, and claimed by nobody.
        require -= self._taken_off(limits)
        if self._limits.get("cpu_percent"):
            require |= {Guarantee.CPU_CAPPED}
        if self._engine and not declared(self._engine).confines:
            writes = Writes.DIRECT
            require = frozenset()  # asked for by name: nothing is required, and nothing is claimed
        made = replace(
            grant,
            writes=writes,
            apply=self._apply or grant.apply,
            undo=self.undo,
            limits=limits,
            writable=self.writable,
            readable=self._readable,
            env=self._env,
            secrets=self.granted,
            require=require,
            prefer=(self._engine,) if self._engine else grant.prefer,
        )
        if self.temporary:
            made = with_temporary(made)
        if self._reach is None:
            return made
        inspect, cache = self._reach.inspect, self._reach.cache
        if self._reach == Reach(inspect=inspect, cache=cache):
            # Whatever is granted elsewhere is read, or kept.
            inspect = inspect or made.reach.inspect
            made = replace(made, reach=replace(made.reach, inspect=inspect, cache=cache))
            if not inspect or made.network is not NetworkMode.OPEN:
                return made
            from redoma.egress.grants import kept_to

            # An open network is read at a gate that every host is reached through.
            return kept_to(made, None, (), None)
        from redoma.egress.grants import gated

        return gated(made, self._reach)


def _when(apply: str) -> Apply | None:
    try:
        return Apply(apply) if apply else None
    except ValueError:
        known = ", ".join(each.value for each in Apply)
        raise UsageError(
            "apply: {apply} is no moment",
            apply=repr(apply),
            hint=Message("one of: {known}", known=known),
        ) from None


def policy_named(name: str) -> Policy | None:
    """The policy that ships under this name; None without one, where files decide."""
    if not name:
        return None
    from redoma.pipeline.decisions.policies import shipped_policy

    return shipped_policy(name)


def policy_beside(pack: str, rules: Sequence[tuple[str, str, str]]) -> Policy | None:
    """What counts beside the policy in the files; None where nothing does."""
    if not pack and not rules:
        return None
    from redoma.pipeline.decisions.own_rules import own

    return own(pack, rules)


class Restrictions:
    """Hidden paths hold below whatever is given; `subprocesses` is how many may run at once."""

    def __init__(self, hide: Sequence[str] | None, subprocesses: int | None) -> None:
        # A name that is not there yet is hidden too: what appears there is taken away again.
        self._hide = tuple(dict.fromkeys(map(_real, hide or ())))
        if "/" in self._hide:
            raise UsageError("hide: without / there is nothing left to run")
        self._subprocesses = subprocesses

    def applied_to(self, grant: Grant) -> Grant:
        """The grant without what is taken away."""
        if self._subprocesses is not None:
            most = self._subprocesses + 1  # the call's own process is one of them
            now = grant.limits.processes
            limits = grant.limits
            if self._subprocesses and (now is None or most < now):
                limits = replace(limits, processes=most)
            grant = replace(grant, subprocesses=self._subprocesses > 0, limits=limits)
        if not set(SHARED).isdisjoint(grant.writable):
            grant = replace(grant, require=grant.require - {Guarantee.PROTECTED_PATHS})
        hidden = (*self._hide, *_own(grant))
        covers = [h for h in hidden if is_within(grant.workspace, h)]
        if covers:
            raise UsageError(
                "hide: {path} holds the workspace {workspace}",
                path=covers[0],
                workspace=grant.workspace,
            )
        new = tuple(path for path in hidden if path not in grant.hidden)
        if not new:
            return grant
        from redoma.pipeline.decisions.policy_grant import with_engines_that_hide

        return with_engines_that_hide(replace(grant, hidden=(*grant.hidden, *new)))


def _own(grant: Grant) -> list[str]:
    """Our own directories, where something that was given lies around them.

    Attack: whoever may write a whole home could write the audit log, approvals and policies in it.
    """
    from redoma.base import own_directories
    from redoma.pipeline.decisions.policies import user_file

    given = (*grant.writable, *grant.readable)
    # In a workspace the cache is only read: what a call needs may lie there.
    roots = (grant.workspace, *given)
    kept = [
        path for path in (_state(), own_directories.config(), os.path.dirname(user_file())) if path
    ]
    found = [path for path in map(_real, kept) if any(is_within(path, root) for root in roots)]
    if given:
        cache = _real(own_directories.cache())
        found += [cache] if any(is_within(cache, each) for each in given) else []
    return list(dict.fromkeys(found))


def _state() -> str:
    from redoma.base import own_directories
    from redoma.model.errors import StateUnavailable

    try:
        return own_directories.state()
    except StateUnavailable:
        return ""  # who writes there says so


def _real(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))
