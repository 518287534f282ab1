"""The path of a request, and the wiring that gives it hands."""
