"""Terminals, for doors that have one."""

from __future__ import annotations

from redoma.jail.run.terminal import raw as raw
from redoma.jail.run.terminal import size_of as size_of
