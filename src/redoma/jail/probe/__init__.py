"""Finds out what works on this machine by trying it."""
