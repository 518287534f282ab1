"""What Redoma itself is made of here: its interpreter, its package, and what that imports."""

from __future__ import annotations

import os
import sys

# Attack: a project's own environment lies in its workspace. A command makes its `bin/python` lead
# elsewhere, and whoever follows that link later starts what the command chose, outside. So it is
# followed once, before this process has run anything.
INTERPRETER = os.path.realpath(sys.executable)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MOST_LINKS = 40
_IMPORTED = ("cloudpickle", "yaml", "_yaml", "cryptography", "h11", "hishel")


def _links() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    path = os.path.abspath(sys.executable) if sys.executable else ""
    while os.path.islink(path) and len(found) < _MOST_LINKS:
        directory, name = os.path.split(path)
        directory = os.path.realpath(directory)
        if name in found.get(directory, ()):
            break
        found[directory] = found.get(directory, frozenset()) | {name}
        path = os.path.join(directory, os.readlink(path))
    return found


LINKS = _links()
"""By directory: the names through which this interpreter was started, and hooks start it again."""


def parts_below(root: str) -> list[str]:
    """Files and directories below `root` that this process may yet run or import outside."""
    below = root.rstrip("/") + "/"
    found = [path for path in (INTERPRETER, _PACKAGE) if path.startswith(below)]
    for entry in sys.path:
        if entry.startswith(below):
            found += [f"{entry}/{name}" for name in _IMPORTED]
    return list(dict.fromkeys(path for path in found if os.path.exists(path)))


def ways_to(paths: list[str], root: str) -> list[str]:
    """The directories between `root` and each path, which lead there by name."""
    found: dict[str, None] = {}
    for path in paths:
        above = os.path.dirname(path)
        while len(above) > len(root):
            found[above] = None
            above = os.path.dirname(above)
    return list(found)
