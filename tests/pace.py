"""How slow this machine is just now, so that a promise in milliseconds can be held on a busy one."""

from __future__ import annotations

import time

AT_REST = 0.010
"""CPU seconds that the fixed work below takes on a quiet machine."""


def slowness() -> float:
    """How many times longer plain Python takes than at rest; never below one."""
    best = 60.0
    for _ in range(3):
        started = time.process_time()
        counted: dict[int, tuple[int, str]] = {}
        for number in range(30_000):
            counted[number] = (number, str(number))
        best = min(best, time.process_time() - started)
    return max(1.0, best / AT_REST)
