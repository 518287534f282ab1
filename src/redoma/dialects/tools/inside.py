"""Looks on from inside a tool's call, so that a path is refused by the constraint that names it.

The sandbox is the boundary: what is forbidden is not there. But some of what a tool may not read
has to be there for its interpreter, and is told apart here: `/usr`, the sandbox's own `/etc` and
`/proc`, the directories that modules are imported from.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

from redoma.dialects.tools.constraints import SandboxConstraints, lies_in, resolved

_READS = ("os.listdir", "os.scandir", "sqlite3.connect")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Inside a sandbox these are its own: memory that goes with it, and devices that hold nothing.
_OWN = ("/tmp", "/var/tmp", "/dev")
# What libraries look up on their own for time, names, types and certificates.
_LOOKED_UP = (
    *("/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/ssl", "/etc/pki"),
    *("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services"),
    *("/usr/share/zoneinfo", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"),
)
_LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib")


class Guarded:
    """A function that is called with its constraints looked after; named as the function is."""

    def __init__(self, function: Any, constraints: SandboxConstraints) -> None:
        self._function = function
        self._constraints = constraints
        named = function
        while not hasattr(named, "__qualname__"):
            named = getattr(named, "func", None) or type(named)
        self.__module__ = getattr(named, "__module__", None) or "builtins"
        self.__qualname__ = named.__qualname__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        sys.addaudithook(_Hook(self._constraints))
        return self._function(*args, **kwargs)


class _Hook:
    """Refuses to read what no constraint allows."""

    def __init__(self, constraints: SandboxConstraints) -> None:
        self._constraints = constraints
        prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix}
        code = {*(f"{prefix}/lib" for prefix in prefixes), *sys.path}
        places = (*_LIBRARIES, *filter(None, map(resolved, filter(None, code))))
        self._code = frozenset(place for place in places if place != "/")
        self._own = frozenset(path for path in _OWN if path not in constraints.forbidden_paths)

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = given
            writes = isinstance(flags, int) and bool(flags & _WRITING)
            if not writes and (not isinstance(mode, str) or set("wax+").isdisjoint(mode)):
                self._read(path)
        elif event in _READS:
            self._read(given[0])

    def _read(self, path: Any) -> None:
        if path is None or isinstance(path, int):
            return  # a descriptor, whose opening was seen; or the directory we stand in
        real = resolved(path)
        if real is not None and (
            lies_in(real, self._own)
            or lies_in(real, frozenset(_LOOKED_UP))
            or (lies_in(real, self._code) and not self._forbidden(real))
        ):
            return
        if self._constraints.why_not(path, writing=False):
            raise PermissionError(errno.EACCES, "the constraints keep this from the tool", path)

    def _forbidden(self, real: str) -> bool:
        return lies_in(real, self._constraints.forbidden_paths)
