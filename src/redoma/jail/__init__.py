"""Knows what this machine can enforce, builds the enclosure, and runs things in it."""
