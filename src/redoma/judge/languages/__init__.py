"""Code in other languages than the shell, read for what it would do."""
