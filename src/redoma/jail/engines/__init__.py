"""Each way to enclose a command, behind one Protocol; none of them starts a process."""
