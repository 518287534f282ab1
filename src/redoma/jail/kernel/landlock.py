"""Landlock: a process gives up every path and port that is not named, for itself and its heirs."""

from __future__ import annotations

import ctypes
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
_PATH_RULE = 1
_BIND_AND_CONNECT_TCP = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
_PR_SET_SECCOMP = 22


def abi() -> int:
    """The version of Landlock here; 0 where there is none."""
    try:
        return calls.syscall(calls.LANDLOCK_CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def restrict(*, readable: list[str], writable: list[str], network: bool) -> None:
    """Gives up everything but these paths, the network if closed, and processes outside."""
    version = abi()
    count = _RIGHTS_OF_ABI.get(min(version, 5))
    if count is None:
        raise OSError("this kernel has no Landlock")
    everything = (1 << count) - 1
    attributes = struct.pack(
        "QQQ",
        everything,
        0 if network or version < 4 else _BIND_AND_CONNECT_TCP,
        _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0,
    )
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = calls.syscall(calls.LANDLOCK_CREATE_RULESET, attributes[:size], size, 0)
    try:
        for paths, rights in ((readable, _READ), (writable, everything)):
            for path in paths:
                _allow(rules, path, rights & everything)
        calls.syscall(calls.LANDLOCK_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, place)
        calls.syscall(calls.LANDLOCK_ADD_RULE, rules, _PATH_RULE, rule, 0)
    finally:
        os.close(place)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def load_filter(code: bytes) -> None:
    """Puts a filter of system calls on this process."""
    kept = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(kept))
    calls.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program))
