"""Plans of work as text: read strictly, every error with its place, and put into order."""
