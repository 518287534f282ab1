"""Calls a function by its name; this runs inside the sandbox, and nothing is imported outside."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def call_named(
    target: str, args: Sequence[object], kwargs: Mapping[str, object], workspace: str
) -> object:
    """What `package.module:function` returns; modules of the workspace are found first."""
    import sys
    from importlib import import_module

    sys.path.insert(0, workspace)
    module, _, names = target.partition(":")
    found: object = import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{target} is no function")
    return found(*args, **kwargs)
