"""How much may run: by the minute, at once and by the day, for a caller and for a session."""

from __future__ import annotations

from redoma.model.value import Value


class Rates(Value):
    """What one caller, or one session, may use; None is no limit."""

    executions_per_minute: int | None = None
    concurrent_runs: int | None = None
    cpu_seconds_per_day: float | None = None
    # What its runs wrote to files and printed, together.
    bytes_per_day: int | None = None


class RateLimits(Value):
    """The rates of each caller and of each session; both hold."""

    per_caller: Rates = Rates()
    per_session: Rates = Rates()

    @property
    def any(self) -> bool:
        """Whether anything is limited at all."""
        return self.per_caller != Rates() or self.per_session != Rates()
