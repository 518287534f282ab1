"""Gives a cell its users: a range of numbers that belong to nobody on the machine."""

from __future__ import annotations

import os

from redoma.jail.engines.view import user_name
from redoma.jail.kernel.process import is_machines_root
from redoma.model.cell import DEFAULT_UID, CellError

_FIRST = 900_000_000
_COUNT = 1 << 16
_LEAST = 2 * DEFAULT_UID
_PROGRAMS = ("/usr/bin/newuidmap", "/usr/bin/newgidmap")
_TABLES = ("/etc/subuid", "/etc/subgid")


def can_have_users() -> bool:
    """Whether a cell made by this process can have users beside its own, root among them."""
    if is_machines_root():
        return True
    return all(os.access(each, os.X_OK) for each in _PROGRAMS) and all(
        _range(table) is not None for table in _TABLES
    )


def write(pid: int, *, ranged: bool) -> None:
    """Names the users of the user namespace that a process has just made."""
    if is_machines_root():
        for name in ("uid_map", "gid_map"):
            _put(pid, name, f"0 {_FIRST} {_COUNT}")
        return
    own = (os.geteuid(), os.getegid())
    if not ranged:
        _put(pid, "setgroups", "deny")
        _put(pid, "uid_map", f"{DEFAULT_UID} {own[0]} 1")
        _put(pid, "gid_map", f"{DEFAULT_UID} {own[1]} 1")
        return
    for program, table, who in zip(_PROGRAMS, _TABLES, own, strict=True):
        found = _range(table)
        assert found is not None
        first, count = found
        # The caller is the cell's ordinary user: what is shown of theirs keeps its owner.
        rest = min(count, _COUNT - 1) - DEFAULT_UID
        words = [0, first, DEFAULT_UID, DEFAULT_UID, who, 1, DEFAULT_UID + 1]
        words += [first + DEFAULT_UID, rest]
        argv = [program, str(pid), *map(str, words)]
        silent = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]
        started = os.posix_spawn(program, argv, {}, file_actions=silent)
        if os.waitstatus_to_exitcode(os.waitpid(started, 0)[1]):
            raise CellError(
                "{program} gave the cell no users", program=program, hint="see /etc/subuid"
            )


def _put(pid: int, name: str, text: str) -> None:
    with open(f"/proc/{pid}/{name}", "w") as file:
        file.write(text)


def _range(table: str) -> tuple[int, int] | None:
    """The first range of this user's that is large enough."""
    names = {str(os.geteuid()), user_name(os.geteuid())}
    try:
        with open(table, encoding="utf-8", errors="replace") as file:
            rows = [line.strip().split(":") for line in file]
    except OSError:
        return None
    for row in rows:
        if len(row) == 3 and row[0] in names and row[1].isdecimal() and row[2].isdecimal():
            first, count = int(row[1]), int(row[2])
            if count >= _LEAST:
                return first, count
    return None
