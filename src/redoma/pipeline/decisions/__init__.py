"""How a decision is reached here: what is known of programs, which policy holds, what it says."""
