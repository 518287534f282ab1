"""The interfaces that other programs were written against, as translations of the one core."""
