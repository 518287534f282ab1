"""Code in languages without a parser here: strings and dangerous calls found by their tokens."""
