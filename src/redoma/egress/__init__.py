"""The egress gate: the one way out of a sandbox's network, for the hosts that were granted."""
