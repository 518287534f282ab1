"""Writes what happened, in order, so that a changed past shows."""
