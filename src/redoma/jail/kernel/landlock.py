"""Landlock: a process gives up every path and port that is not named, for itself and its heirs.

What a kernel knows is asked by its version of Landlock and used as far as it goes; what a version
lacks is in `covers`, so that whoever builds on it can say so or close it in another way.
"""

from __future__ import annotations

import os
import struct

from redoma.jail.kernel import calls

_NAMES = """EXECUTE WRITE_FILE READ_FILE READ_DIR REMOVE_DIR REMOVE_FILE MAKE_CHAR MAKE_DIR MAKE_REG
    MAKE_SOCK MAKE_FIFO MAKE_BLOCK MAKE_SYM REFER TRUNCATE IOCTL_DEV""".split()
_RIGHTS = {name: 1 << index for index, name in enumerate(_NAMES)}
_RIGHTS_OF_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_READ = _RIGHTS["EXECUTE"] | _RIGHTS["READ_FILE"] | _RIGHTS["READ_DIR"]
_ON_FILES = (
    _RIGHTS["EXECUTE"]
    | _RIGHTS["WRITE_FILE"]
    | _RIGHTS["READ_FILE"]
    | _RIGHTS["TRUNCATE"]
    | _RIGHTS["IOCTL_DEV"]
)
# A device or a pipe that the workspace did not have before has no honest use there.
_NEVER_IN_A_WORKSPACE = _RIGHTS["MAKE_CHAR"] | _RIGHTS["MAKE_BLOCK"]
_PATH_RULE = 1
_BIND_AND_CONNECT_TCP = 3
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_FIRST_WITH_NETWORK, _FIRST_WITH_SCOPES = 4, 6


def abi() -> int:
    """The version of Landlock here; 0 where there is none."""
    try:
        return calls.syscall(calls.LANDLOCK_CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def covers_signals(version: int) -> bool:
    """Whether processes outside can be kept from being signalled."""
    return version >= _FIRST_WITH_SCOPES


def contain_signals(version: int) -> None:
    """From here on this process and its heirs signal only each other."""
    _restrict(_ruleset(0, 0, _SIGNALS | _ABSTRACT_SOCKETS, version))


def restrict(*, readable: list[str], writable: list[str], network: bool, version: int) -> None:
    """Gives up every other path, TCP unless `network`, and every process but its own kin."""
    everything = (1 << _RIGHTS_OF_ABI[min(version, 5)]) - 1
    ports = 0 if network else _BIND_AND_CONNECT_TCP
    rules = _ruleset(everything, ports, _SIGNALS | _ABSTRACT_SOCKETS, version)
    for paths, rights in ((readable, _READ), (writable, everything & ~_NEVER_IN_A_WORKSPACE)):
        for path in paths:
            _allow(rules, path, rights & everything)
    _restrict(rules)


def _ruleset(files: int, ports: int, scopes: int, version: int) -> int:
    if version < 1:
        raise OSError("this kernel has no Landlock")
    attributes = struct.pack("QQQ", files, ports, scopes)
    size = 8 if version < _FIRST_WITH_NETWORK else 16 if version < _FIRST_WITH_SCOPES else 24
    return calls.syscall(calls.LANDLOCK_CREATE_RULESET, attributes[:size], size, 0)


def _restrict(rules: int) -> None:
    try:
        calls.syscall(calls.LANDLOCK_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    try:
        if not os.path.isdir(path):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, place)
        calls.syscall(calls.LANDLOCK_ADD_RULE, rules, _PATH_RULE, rule, 0)
    finally:
        os.close(place)
