"""Tells a running interpreter that its libraries are found elsewhere now."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def libraries(places: list[tuple[str, str]]) -> None:
    """What was loaded from the first of each pair goes on as if from the second."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__path__", None)
        if isinstance(path, list):
            path[:] = [_moved(each, places) for each in path]
        _rename(module, "__file__", places)
        _rename(getattr(module, "__spec__", None), "origin", places)
    sys.path[:] = [_moved(each, places) for each in sys.path]
    for name in ("prefix", "base_prefix", "exec_prefix", "base_exec_prefix", "executable"):
        _rename(sys, name, places)
    sys.path_importer_cache.clear()


def _rename(of: Any, name: str, places: list[tuple[str, str]]) -> None:
    value = getattr(of, name, None)
    if isinstance(value, str) and _moved(value, places) != value:
        setattr(of, name, _moved(value, places))


def _moved(path: str, places: list[tuple[str, str]]) -> str:
    for old, new in places:
        if path == old or path.startswith(f"{old}/"):
            return new + path.removeprefix(old)
    return path
