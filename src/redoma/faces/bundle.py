"""Gives a door its modules out of one file, which an earlier start of that door left behind.

Finding and opening a hundred small files is a third of a cold start. The bundle holds the code that
the interpreter keeps in `__pycache__` anyway, lies there too, and is trusted the same way: who can
change it can change the code. A module is taken from it only while its source has the same time and
size; whatever else is amiss, the interpreter loads the module as ever.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import TypeAlias

    # Under which root, the path below it, whether it is a package, the source's time and size.
    Source: TypeAlias = tuple[int, str, bool, int, int]
    # By module: its source, and from where to where its code lies behind the index.
    Index: TypeAlias = dict[str, tuple[Source, int, int]]

_FORMAT = 2
_LENGTH = 8
_OURS, _LIBRARY = 0, 1
_LONGEST_NAME = 20


class Bundle:
    """The modules of one door, in front of the interpreter's own ways to find them."""

    def __init__(self, door: str, package: str, cache: str) -> None:
        self._roots = (package, os.path.dirname(os.__file__))
        self._stamp = (_FORMAT, MAGIC_NUMBER, sys.hexversion, self._roots[_LIBRARY])
        name = f"{door}.{sys.implementation.cache_tag}-{sys.hexversion:x}.bundle"
        self._places = [f"{package}/__pycache__/{name}"]
        if sys.pycache_prefix:
            self._places = [f"{sys.pycache_prefix}{package}/{name}"]
        elif cache:
            self._places.append(f"{cache}/redoma/compiled{package}/{name}")
        self._codes = _Codes("", -1, 0)
        self._index: Index = {}
        self._stale: set[str] = set()
        self._before = set(sys.modules)
        for place in self._places:
            kept = _read(place, self._stamp)
            if kept is not None:
                self._index, self._codes = kept
                break

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module is, if its source is still what it was."""
        del path, target
        entry = self._index.get(name)
        if entry is None:
            return None
        (root, below, package, time, size), start, end = entry
        place = self._roots[root] + below
        try:
            status = os.stat(place)
        except OSError:
            status = None
        if status is None or (status.st_mtime_ns, status.st_size) != (time, size):
            self._stale.add(name)
            return None
        loader = _Loader(name, place, self._codes, start, end)
        spec = ModuleSpec(name, loader, origin=place, is_package=package)
        if package:
            spec.submodule_search_locations = [place.rpartition("/")[0]]
        spec.has_location = True
        spec.cached = self._codes.place  # else it would work out a name that nobody asks for
        return spec

    def end(self) -> None:
        """Leaves behind what this start has loaded, if an earlier one did not leave it already."""
        sys.meta_path.remove(self)
        try:
            self._leave_behind()
        finally:
            self._codes.close()

    def _leave_behind(self) -> None:
        known = self._index.keys() - self._stale
        new = {}
        for name, module in list(sys.modules.items()):
            if name not in known and name not in self._before:
                found = self._source(name, module)
                if found is not None:
                    new[name] = found
        if not new or sys.dont_write_bytecode:
            return
        index: Index = {}
        codes: list[bytes] = []
        end = 0
        for name in (*known, *new):
            if name in new:
                source, code = new[name]
                codes.append(code)
            else:
                source, first, last = self._index[name]
                codes.append(self._codes.read(first, last))
            index[name] = (source, end, end + len(codes[-1]))
            end += len(codes[-1])
        head = marshal.dumps((self._stamp, index))
        content = b"".join((len(head).to_bytes(_LENGTH, "little"), head, *codes))
        for place in self._places:
            if _write(place, content):
                return

    def _source(self, name: str, module: ModuleType) -> tuple[Source, bytes] | None:
        loader = getattr(module, "__loader__", None)
        place = getattr(module, "__file__", None) or ""
        root = self._root(place)
        if type(loader) is not SourceFileLoader or name == "__main__" or root is None:
            return None
        try:
            status = os.stat(place)
            code = loader.get_code(name)
        except (OSError, SyntaxError, ImportError):
            return None
        below = place.removeprefix(self._roots[root])
        package = hasattr(module, "__path__")
        source = (root, below, package, status.st_mtime_ns, status.st_size)
        return source, marshal.dumps(code)

    def _root(self, place: str) -> int | None:
        if place.startswith(self._roots[_OURS] + "/"):
            return _OURS
        # Only where nothing but the library itself can stand in for a part of it.
        library = self._roots[_LIBRARY] + "/"
        if sys.flags.isolated and place.startswith(library) and "-packages/" not in place:
            return _LIBRARY
        return None


class _Loader(SourceFileLoader):
    """The interpreter's own loader, with the code at hand."""

    def __init__(self, name: str, place: str, codes: _Codes, start: int, end: int) -> None:
        super().__init__(name, place)
        self._codes = codes
        self._start = start
        self._end = end

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            code: CodeType = marshal.loads(  # noqa: S302
                self._codes.read(self._start, self._end)
            )
        except (OSError, ValueError, EOFError, TypeError):
            return super().get_code(fullname)
        return code


class _Codes:
    """The code behind the index of a bundle, read piece by piece: a start needs half of it."""

    def __init__(self, place: str, fd: int, base: int) -> None:
        self.place = place
        self._fd = fd
        self._base = base

    def read(self, start: int, end: int) -> bytes:
        """One module's code; a bundle that was closed or cut has none."""
        return os.pread(self._fd, end - start, self._base + start)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def begin(arguments: list[str]) -> Bundle | None:
    """The bundle of the door that a command line names, put to use; None where it has none."""
    door = arguments[0] if arguments else ""
    if not door.isalpha() or not door.isascii() or len(door) > _LONGEST_NAME or sys.flags.optimize:
        return None
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    bundle = Bundle(door, package, cache if cache.startswith("/") else "")
    sys.meta_path.insert(0, bundle)
    return bundle


def _read(place: str, stamp: tuple[object, ...]) -> tuple[Index, _Codes] | None:
    try:
        fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        # Attack: in a shared directory another user could leave what we would execute.
        if status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022:
            length = int.from_bytes(os.pread(fd, _LENGTH, 0), "little")
            if length <= status.st_size:
                found, index = marshal.loads(os.pread(fd, length, _LENGTH))  # noqa: S302
                if found == stamp and isinstance(index, dict):
                    return index, _Codes(place, fd, _LENGTH + length)
    except (OSError, ValueError, EOFError, TypeError):
        pass
    os.close(fd)
    return None


def _write(place: str, content: bytes) -> bool:
    """Best effort: a place that cannot be written only costs time at the next start."""
    temporary = f"{place}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(fd, "wb") as file:
            file.write(content)
        os.replace(temporary, place)
    except OSError:
        return False
    return True
