"""Plans of work: checked as a whole, run step by step through the one path, gone on with later."""
