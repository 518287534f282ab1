"""Our place in an agent's settings: where it is, what stands there, how it comes and goes."""
