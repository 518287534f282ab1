"""The command line inside an enclosure, with a shell's answers for what cannot be run."""

from __future__ import annotations

import os

from redoma.jail import own
from redoma.model.request import Program, PythonCall, ShellCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.request import Workload

# 127 for a missing program and 126 for one that may not be run, as every shell says.
_EXEC = 'exec "$0" "$@"'
# Nothing of the caller's is in the interpreter but what it reads from its standard input.
_CALL = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.calls.harness import main; main(sys.argv[2:])"
)


def command(workload: Workload, path: str, visible: tuple[str, ...]) -> tuple[str, ...]:
    """What to execute for a workload."""
    if isinstance(workload, ShellCommand):
        # A line that begins with a dash would be read as the shell's own options.
        text = f" {workload.text}" if workload.text.startswith(("-", "+")) else workload.text
        return (workload.shell, "-c", text)
    if isinstance(workload, PythonCall):
        python = own.INTERPRETER
        return (python, "-I", "-S", "-B", "-X", "utf8", "-c", _CALL, own_library(), *workload.entry)
    assert isinstance(workload, Program)
    name, *rest = workload.argv
    found = _found(name, path, visible)
    if found:
        return (found, *rest)
    return ("/bin/sh", "-c", _EXEC, name, *rest)


def own_library() -> str:
    """The directory that this package is imported from."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.dirname(package)


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
