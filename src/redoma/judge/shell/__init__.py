"""Reads shell text into the tree of `redoma.model.script`, as bash itself would read it."""

from __future__ import annotations

from redoma.judge.shell.parse import parse

__all__ = ["parse"]
