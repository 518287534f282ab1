"""What the caller of a sandbox asked for by name, and what it makes of a level's grant."""

from __future__ import annotations

from redoma.model.access import Apply, Network, Writes
from redoma.model.errors import UsageError
from redoma.model.guarantee import Guarantee
from redoma.model.network import Reach
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from redoma.model.access import Grant, Limits


class Given:
    """What the caller of a sandbox asked for by name."""

    def __init__(  # noqa: PLR0913 — each by its own name
        self,
        engine: str,
        *,
        limits: Mapping[str, int | float | None],
        writable: tuple[str, ...],
        readable: tuple[str, ...],
        env: tuple[tuple[str, str], ...],
        reach: Reach | None,
        direct: bool,
        temporary: bool,
        apply: str,
    ) -> None:
        self._engine = engine
        self._reach = reach
        self._direct = direct
        self.temporary = temporary
        self._apply = _when(apply)
        self._limits = limits
        self.writable = writable
        self._readable = readable
        self._env = env

    def secrets(self) -> tuple[str, ...]:
        """Given variables whose names say that they are secret, and what a gate adds."""
        added = self._reach.credentials if self._reach is not None else ()
        if not self._env and not added:
            return ()
        from redoma.flow.credentials import texts_of
        from redoma.vault.exact import own_values

        return (*own_values(dict(self._env)), *texts_of(added))

    def applied_to(self, grant: Grant) -> Grant:
        """The grant with all that was asked for."""
        limits: Limits = grant.limits
        require = grant.require
        writes = grant.writes
        if self._direct and writes is Writes.LAYER:
            writes = Writes.DIRECT
            require -= {Guarantee.CHANGES_HELD}
        if self._limits:
            limits = replace(limits, **self._limits)
        if self._limits.get("cpu_percent"):
            require |= {Guarantee.CPU_CAPPED}
        if self._engine == "direct":
            writes = Writes.DIRECT
            require = frozenset()  # asked for by name: nothing is required, and nothing is claimed
        made = replace(
            grant,
            writes=writes,
            apply=self._apply or grant.apply,
            limits=limits,
            writable=self.writable,
            readable=self._readable,
            env=self._env,
            require=require,
            prefer=(self._engine,) if self._engine else grant.prefer,
        )
        if self.temporary:
            from redoma.flow.temporary import with_temporary

            made = with_temporary(made)
        if self._reach is None:
            return made
        inspect, cache = self._reach.inspect, self._reach.cache
        if self._reach == Reach(inspect=inspect, cache=cache):
            # Whatever is granted elsewhere is read, or kept.
            inspect = inspect or made.reach.inspect
            made = replace(made, reach=replace(made.reach, inspect=inspect, cache=cache))
            if not inspect or made.network is not Network.OPEN:
                return made
            from redoma.jail.egress.grants import kept_to

            # An open network is read at a gate that every host is reached through.
            return kept_to(made, None, (), None)
        from redoma.jail.egress.grants import gated

        return gated(made, self._reach)


def _when(apply: str) -> Apply | None:
    try:
        return Apply(apply) if apply else None
    except ValueError:
        known = ", ".join(each.value for each in Apply)
        raise UsageError(f"apply: {apply!r} is no moment", hint=f"one of: {known}") from None
