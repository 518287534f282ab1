"""Puts a question to someone and brings back an answer; silence is a no."""
