"""The command line inside an enclosure, with a shell's answers for what cannot be run."""

from __future__ import annotations

import os

from redoma.model.request import Program, ShellCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.request import Workload

# 127 for a missing program and 126 for one that may not be run, as every shell says.
_EXEC = 'exec "$0" "$@"'


def command(workload: Workload, path: str, visible: tuple[str, ...]) -> tuple[str, ...]:
    """What to execute for a workload."""
    if isinstance(workload, ShellCommand):
        # A line that begins with a dash would be read as the shell's own options.
        text = f" {workload.text}" if workload.text.startswith(("-", "+")) else workload.text
        return (workload.shell, "-c", text)
    assert isinstance(workload, Program)
    name, *rest = workload.argv
    found = _found(name, path, visible)
    if found:
        return (found, *rest)
    return ("/bin/sh", "-c", _EXEC, name, *rest)


def _found(name: str, path: str, visible: tuple[str, ...]) -> str:
    """The program's full path if it can surely be executed inside."""
    if "/" in name:
        candidates = [name] if name.startswith("/") else []
    else:
        candidates = [f"{entry}/{name}" for entry in path.split(":")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            real = os.path.realpath(candidate)
            return candidate if real.startswith(tuple(f"{v}/" for v in visible)) else ""
    return ""
