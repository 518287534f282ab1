"""Policies: read from text, put together from layers, and asked about a command; no files here."""
