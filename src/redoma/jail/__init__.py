"""Knows what this machine can enforce, builds the sandbox, and runs things in it."""
