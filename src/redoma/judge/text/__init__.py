"""Questions about a text that need no shell: its cost, its patterns, its deceptions."""
