"""What doors need of the jail to serve a run: the caller's hand, and terminals."""

from __future__ import annotations

from redoma.jail.supervisor.control import Control

__all__ = ["Control"]
