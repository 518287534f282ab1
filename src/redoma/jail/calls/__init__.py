"""Python calls: how they are sent into a sandbox, run there, and how their answers are read."""
