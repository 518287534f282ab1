"""The compiled cards in one file, each read when its program is met.

Reading all of them takes a cold start as long as its judgement; it needs one of a thousand. The
file begins with a name of its own and a list of what lies where; then come the cards.
"""

from __future__ import annotations

import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_NAME = 16
_LENGTH = 8
_TRIES = 5


class Shelf:
    """Packed cards, by the name of their program."""

    def __init__(
        self, stamp: tuple[Any, ...], places: list[str], make: Callable[[], dict[str, bytes]]
    ) -> None:
        """What lies in one of the places, if it has this stamp; else it is made, and put there."""
        self._stamp = stamp
        self._places = places
        self._make = make
        self._made: Mapping[str, bytes] | None = None
        self._open()

    def find(self, program: str) -> bytes | None:
        """A program's packed card; None where it has none."""
        for _ in range(_TRIES):
            if self._made is not None:
                return self._made.get(program)
            where = self._where(program)
            if where is None:
                return None
            card = _read(self._path, self._name, *where)
            if card is not None:
                return card
            self._open()  # somebody put others there, or took them away
        self._made = self._make()
        return self._made.get(program)

    def _where(self, program: str) -> tuple[int, int] | None:
        """From where to where its card lies; the list is searched as it is, and not unpacked."""
        if "\0" in program or "\n" in program:
            return None
        head = f"\n{program}\0".encode(errors="surrogateescape")
        at = self._list.find(head)
        if at < 0:
            return None
        start, end = self._list[at + len(head) :].split(b"\n", 1)[0].split(b" ")
        return self._base + int(start), self._base + int(end)

    def _open(self) -> None:
        for path in self._places:
            if self._take(path):
                return
        made = self._make()
        content = _spelled(self._stamp, made)
        for path in self._places:
            if keep(path, content) and self._take(path):
                return
        self._made = made

    def _take(self, path: str) -> bool:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            head = os.pread(fd, _NAME + _LENGTH, 0)
            length = int.from_bytes(head[_NAME:], "little")
            if not ours(fd) or length > os.fstat(fd).st_size:
                return False
            stamp, listed = marshal.loads(os.pread(fd, length, len(head)))  # noqa: S302
            if stamp != self._stamp:
                return False
            self._path, self._name, self._base = path, head[:_NAME], len(head) + length
            self._list: bytes = listed
        except (OSError, ValueError, EOFError, TypeError):
            return False
        finally:
            os.close(fd)
        return True


def _read(path: str, name: bytes, start: int, end: int) -> bytes | None:
    """A piece of the file that has this name; None where it is another one by now."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not ours(fd) or os.pread(fd, _NAME, 0) != name:
            return None
        piece = os.pread(fd, end - start, start)
        return piece if len(piece) == end - start else None
    except OSError:
        return None
    finally:
        os.close(fd)


def ours(fd: int) -> bool:
    """Attack: in a shared directory another user could leave what we would believe."""
    return os.fstat(fd).st_uid in (0, os.geteuid())


def _spelled(stamp: tuple[Any, ...], cards: dict[str, bytes]) -> bytes:
    lines = [b""]
    places: dict[bytes, tuple[int, int]] = {}
    end = 0
    for program, card in cards.items():
        if card not in places:
            places[card] = end, end + len(card)
            end += len(card)
        start, over = places[card]
        lines.append(f"{program}\0{start} {over}".encode(errors="surrogateescape"))
    lines.append(b"")
    front = marshal.dumps((stamp, b"\n".join(lines)))
    length = len(front).to_bytes(_LENGTH, "little")
    return b"".join((os.urandom(_NAME), length, front, *places))


def keep(path: str, content: bytes) -> bool:
    """Best effort: a place that cannot be written only costs time at the next start."""
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        # Attack: a link under the name that is to be expected, in a directory that others write.
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with open(fd, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        return False
    return True
