"""Keeps what a person's tools obey out of a command's hands: hooks, settings, start files."""
