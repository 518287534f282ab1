"""Untrusted text made fit for a terminal, for the doors that have one."""

from __future__ import annotations

from redoma.model.display import INVISIBLE, TAB, cell, escape, harmless, shortened

__all__ = ["INVISIBLE", "TAB", "cell", "escape", "harmless", "shortened"]
