"""Terminals, for doors that have one."""

from __future__ import annotations

from redoma.jail.supervisor.tty import raw, size_of

__all__ = ["raw", "size_of"]
