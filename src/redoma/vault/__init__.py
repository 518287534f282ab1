"""Keeps secrets: takes them out of text before anyone else sees it."""
