"""The forkserver, and the processes that stand between the supervisor and a command."""
