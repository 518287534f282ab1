"""A long row of values that lies on disk: written once, in order, and read as often as needed.

What a command changes has no bound that fits into memory. So long rows are lines of JSON in a file.
Each has a path, and says of it only where it differs from the one before: a path in a tree ten
thousand levels deep takes no more room than any other. Every few lines one is written whole, from
which reading can begin.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from redoma.model.change import Change, Did, FileKind, FileState
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeAlias, TypeVar, overload

    from redoma.model.value import Value

    T = TypeVar("T")
    V = TypeVar("V", bound=Value)
    Row: TypeAlias = tuple[str, list[Any]]
    Read: TypeAlias = Sequence[T]
else:
    T = None

    class _Parameter:
        """What stands in for `typing`, which a start would pay for."""

        def __init__(self, kind):
            self._kind = kind

        def __getitem__(self, _):
            return self._kind

    Read = _Parameter(Sequence)

# So many stay as they are, in memory; a run seldom changes more.
FEW = 1000
_BLOCK = 256
_PIECE = 1 << 20
_DIDS = {did.value: did for did in Did}
_KINDS = {kind.value: kind for kind in FileKind}


class Form:
    """How one kind of value is written: its path, and the rest of it as JSON."""

    def __init__(self, row: Callable[[Any], Row], value: Callable[[str, list[Any]], Any]) -> None:
        self.row = row
        self.value = value


class Spool(Read[T]):
    """A row of values on disk, read like a tuple. Its paths are in order, for `find`."""

    def __init__(
        self, form: Form, fd: int, *, at: int, end: int, count: int, blocks: Iterable[int]
    ) -> None:
        """`fd` becomes our own; `at` is where the rows begin in it, `blocks` from there on."""
        from array import array

        self._form = form
        self._fd = fd
        self._at, self._end = at, end
        self._count = count
        self._blocks: Sequence[int] = array("Q", blocks)
        self._read: tuple[int, list[T]] = (-1, [])
        self._found: tuple[int, dict[str, T]] = (-1, {})
        self._first: list[str] = []

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for block in range(len(self._blocks)):
            yield from self._values(block)

    def __reversed__(self) -> Iterator[T]:
        for block in reversed(range(len(self._blocks))):
            yield from reversed(self._values(block))

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, at: int) -> T: ...
        @overload
        def __getitem__(self, at: slice) -> Sequence[T]: ...

    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            first, last, step = at.indices(self._count)
            if step == 1:
                return tuple(
                    value for value, _ in zip(self._from(first), range(last - first), strict=False)
                )
            return tuple(self[place] for place in range(first, last, step))
        place = at + self._count if at < 0 else at
        if not 0 <= place < self._count:
            raise IndexError("there are not so many")
        if self._read[0] != place // _BLOCK:
            self._read = (place // _BLOCK, self._values(place // _BLOCK))
        return self._read[1][place % _BLOCK]

    def _from(self, place: int) -> Iterator[T]:
        for block in range(place // _BLOCK, len(self._blocks)):
            values = self._values(block)
            yield from values[place % _BLOCK :] if block == place // _BLOCK else values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spool | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    def find(self, path: str) -> T | None:
        """The value with this path; None where there is none."""
        from bisect import bisect_right

        from redoma.jail.overlay.selection import in_order

        if not self._first:
            self._first = [in_order(self._path(block)) for block in range(len(self._blocks))]
        block = bisect_right(self._first, in_order(path)) - 1
        if block < 0:
            return None
        if self._found[0] != block:
            self._found = (block, dict(self._rows(block)))
        return self._found[1].get(path)

    def store(self, target: int) -> dict[str, Any]:
        """Copies the rows to the end of a file; what `stored` needs to read them there."""
        at = os.lseek(target, 0, os.SEEK_END)
        here = self._at
        while here < self._end:
            sent = os.sendfile(target, self._fd, here, self._end - here)
            if not sent:
                raise OSError("the rows ended too early")
            here += sent
        size = self._end - self._at
        return {"at": at, "size": size, "count": self._count, "blocks": list(self._blocks)}

    def _rows(self, block: int) -> Iterator[tuple[str, T]]:
        from json import loads

        begin = self._at + self._blocks[block]
        last = block + 1 == len(self._blocks)
        end = self._end if last else self._at + self._blocks[block + 1]
        before = ""
        for line in _read(self._fd, begin, end).split(b"\n"):
            if line:
                shared, rest, *more = loads(line)
                before = before[:shared] + rest
                yield before, self._form.value(before, more)

    def _values(self, block: int) -> list[T]:
        return [value for _, value in self._rows(block)]

    def _path(self, block: int) -> str:
        return next(self._rows(block))[0]


def stored(form: Form, path: str, where: dict[str, Any]) -> Spool[Any]:
    """The rows that `Spool.store` put into the file at `path`."""
    at, size = int(where["at"]), int(where["size"])
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.fstat(fd).st_size < at + size:
        os.close(fd)
        raise ValueError(Message("{path} is cut off", path=path))
    blocks, count = where["blocks"], int(where["count"])
    return Spool(form, fd, at=at, end=at + size, count=count, blocks=blocks)


class Spooler:
    """Takes values one after the other; a few stay in memory, more go to disk."""

    def __init__(self, form: Form, directory: str) -> None:
        self._form = form
        self._directory = directory
        self._few: list[Any] = []
        self._fd = -1
        self._count = 0
        self._size = 0
        self._blocks: list[int] = []
        self._before = ""
        self._lines: list[bytes] = []
        self._pending = 0

    def __len__(self) -> int:
        return self._count

    def append(self, value: object) -> None:
        """One more."""
        self._count += 1
        if self._fd < 0:
            self._few.append(value)
            if self._count > FEW:
                self._spill()
        else:
            self._write(value)

    def extend(self, values: Iterable[object]) -> None:
        """Some more."""
        for value in values:
            self.append(value)

    def sealed(self) -> Sequence[Any]:
        """All of them; nothing may be added any more."""
        if self._fd < 0:
            return tuple(self._few)
        self._flush()
        fd, self._fd = self._fd, -1
        return Spool(self._form, fd, at=0, end=self._size, count=self._count, blocks=self._blocks)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def _spill(self) -> None:
        self._fd = _nameless(self._directory)
        few, self._few = self._few, []
        self._count = 0
        for value in few:
            self._count += 1
            self._write(value)

    def _write(self, value: object) -> None:
        from json import dumps  # a run that changes little does without it

        path, rest = self._form.row(value)
        if (self._count - 1) % _BLOCK == 0:
            self._blocks.append(self._size + self._pending)
            shared = 0
        else:
            shared = _shared(self._before, path)
        self._before = path
        line = dumps([shared, path[shared:], *rest], separators=(",", ":")).encode() + b"\n"
        self._lines.append(line)
        self._pending += len(line)
        if self._pending > _PIECE:
            self._flush()

    def _flush(self) -> None:
        data = memoryview(b"".join(self._lines))
        self._lines.clear()
        self._size += self._pending
        self._pending = 0
        while data:
            data = data[os.write(self._fd, data) :]


_put = object.__setattr__


def made(kind: type[V], row: list[Any]) -> V:
    """A value of its fields in order; the usual way costs several times as much."""
    value = object.__new__(kind)
    for field, content in zip(kind._fields, row, strict=True):
        _put(value, field, content)
    return value


def found_in(values: Sequence[T]) -> Callable[[str], T | None]:
    """How to find one of some values by its path."""
    if isinstance(values, Spool):
        return values.find
    by_path: dict[str, Any] = {value.path: value for value in values}  # type: ignore[attr-defined]
    return by_path.get


def _shared(one: str, other: str) -> int:
    """How many letters two paths have in common at their beginning."""
    if other.startswith(one):
        return len(one)
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _read(fd: int, begin: int, end: int) -> bytes:
    pieces = []
    while begin < end:
        piece = os.pread(fd, end - begin, begin)
        if not piece:
            raise OSError("the rows ended too early")
        pieces.append(piece)
        begin += len(piece)
    return b"".join(pieces)


def _nameless(directory: str) -> int:
    """A file without a name, which is gone with whoever has it open."""
    try:
        return os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        import tempfile

        fd, path = tempfile.mkstemp(dir=directory)
        os.unlink(path)
        return fd


def change_row(item: Change) -> list[Any]:
    """A change as JSON can say it."""
    return [
        item.path,
        item.did.value,
        _state_row(item.before),
        _state_row(item.after),
        item.renamed_from,
        item.moved_along,
        item.hard_link_of,
        item.replaces_tree,
    ]


def change_of(row: list[Any]) -> Change:
    """The change again."""
    path, did, before, after, *rest = row
    return made(Change, [path, _DIDS[did], _state_of(before), _state_of(after), *rest])


def _state_row(state: FileState | None) -> list[Any] | None:
    if state is None:
        return None
    kind, *numbers, xattrs = state._content()
    return [kind.value, *numbers, [[name, value.hex()] for name, value in xattrs]]


def _state_of(row: list[Any] | None) -> FileState | None:
    if row is None:
        return None
    kind, *numbers, xattrs = row
    own = tuple([(name, bytes.fromhex(value)) for name, value in xattrs]) if xattrs else ()
    return made(FileState, [_KINDS[kind], *numbers, own])


def _spooled(item: Change) -> tuple[str, list[Any]]:
    path, *rest = change_row(item)
    return path, rest


CHANGES = Form(_spooled, lambda path, rest: change_of([path, *rest]))
