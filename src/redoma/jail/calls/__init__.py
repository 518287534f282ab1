"""Python calls: how they are sent into an enclosure, and how their answers are read."""
