"""Takes from a process the right to make others, for good; its own threads it may still make."""

from __future__ import annotations

from redoma.jail.kernel import privileges, seccomp


def stay_alone() -> None:
    """No new process and no other program from here on, by any route."""
    privileges.no_new_privileges()
    privileges.load_filter(seccomp.alone())
