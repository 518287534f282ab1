"""The reader's pager, for doors that print much."""

from __future__ import annotations

from redoma.jail.supervisor.tty import fed

__all__ = ["fed"]
