"""Limits as people write them, for doors that take them as text."""

from __future__ import annotations

from redoma.jail.quantities import SIZES, read_limit

__all__ = ["SIZES", "read_limit"]
