"""Keeps what a person trusts in a workspace out of a command's hands: hooks, settings, start files."""
