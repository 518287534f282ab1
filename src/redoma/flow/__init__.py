"""The path itself, and the wiring that gives it hands."""
