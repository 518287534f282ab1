"""Finds every process that descends from one, as the kernel lists children."""

from __future__ import annotations

import os
from contextlib import suppress


def process_tree(root: int) -> list[int]:
    """A process and all that descend from it, as far as they live."""
    found, pending = [], [root]
    while pending:
        pid = pending.pop()
        found.append(pid)
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    pending += [int(child) for child in file.read().split()]
    return found
