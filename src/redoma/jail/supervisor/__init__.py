"""Runs one prepared launch: starts it, feeds it, limits it, and kills its whole tree."""
