"""The one supervisor: the only files that start processes."""
