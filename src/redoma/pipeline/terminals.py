"""Terminals, for doors that have one."""

from __future__ import annotations

from redoma.jail.run.terminal import raw, size_of

__all__ = ["raw", "size_of"]
