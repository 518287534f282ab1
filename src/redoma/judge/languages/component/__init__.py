"""Components read before they run: what is not known to be harmless is refused."""
