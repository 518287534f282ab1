"""Python code read with `ast`: what it would run, delete, write, read and send."""
