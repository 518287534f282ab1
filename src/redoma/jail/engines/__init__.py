"""Each way to confine a command, declared in one registry; none of them starts a process."""
