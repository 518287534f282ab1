"""Reads shell text into the tree of `redoma.model.script`, as bash itself would read it."""
