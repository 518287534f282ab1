"""Compares and names the contents of files, holes skipped, within a budget."""

from __future__ import annotations

import os
import stat
from _blake2 import blake2b

_PIECE = 1 << 20


class TooMuch(Exception):
    """More would have to be read than one look may."""


class Budget:
    """How much may still be read."""

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooMuch


def same(one: int, other: int, budget: Budget) -> bool:
    """Whether two files of one size have one content."""
    at = 0
    size = os.fstat(one).st_size
    if not (_regular(one) and _regular(other)) or os.fstat(other).st_size != size:
        return False
    while at < size:
        at = min(_next_data(one, at, size), _next_data(other, at, size))
        mine, theirs = os.pread(one, _PIECE, at), os.pread(other, _PIECE, at)
        if mine != theirs:
            return False
        if not mine:
            break  # it became shorter while it was read
        budget.spend(len(mine) + len(theirs))
        at += len(mine)
    return True


def digest(fd: int, budget: Budget) -> bytes:
    """A name for a file's content: the same for the same bytes, however they are stored."""
    size = os.fstat(fd).st_size
    if not _regular(fd):
        raise OSError("not a regular file")
    made = blake2b(digest_size=20)
    at = 0
    while at < size:
        at = _next_data(fd, at, size) // _PIECE * _PIECE  # where pieces begin is for all the same
        piece = os.pread(fd, _PIECE, at)
        if not piece:
            break
        budget.spend(len(piece))
        if piece.strip(b"\0"):  # written zeros are what a hole is
            made.update(at.to_bytes(8, "little") + piece)
        at += len(piece)
    return made.digest()


def _regular(fd: int) -> bool:
    return stat.S_ISREG(os.fstat(fd).st_mode)


def _next_data(fd: int, at: int, size: int) -> int:
    """Where something other than a hole begins, from `at` on."""
    if size <= _PIECE:
        return at  # asking would cost more than reading
    try:
        return os.lseek(fd, at, os.SEEK_DATA)
    except OSError:
        return size if _holes_are_known(fd) else at


def _holes_are_known(fd: int) -> bool:
    try:
        os.lseek(fd, 0, os.SEEK_HOLE)
    except OSError:
        return False
    return True
