"""The gate: the one way out of an enclosure's network, for the hosts that were granted."""
