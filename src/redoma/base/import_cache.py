"""Gives a command its modules out of one file, which an earlier start of that command left.

Finding and opening a hundred small files is a third of a cold start. The file holds the code that
the interpreter keeps in `__pycache__` anyway, lies there too, and is trusted the same way: who can
change it can change the code. A module is taken from it only while its source has the same time and
size; whatever else is amiss, the interpreter loads the module as ever.

What a module loaded when it was loaded last is loaded before it, without the interpreter's own
search for each: its import then finds everything there. The regular expressions that modules
compile are kept here too (`base/pattern_cache.py`).
"""

from __future__ import annotations

import _frozen_importlib
import _thread
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

from redoma.base import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, ModuleType
    from typing import TypeAlias

    from redoma.base.pattern_cache import KeptPatterns, Patterns

    # Under which root, the path below it, whether it is a package, the source's time and size.
    Source: TypeAlias = tuple[int, str, bool, int, int]
    # By module: its source, from where to where its code lies behind the index (or, from -1, which
    # of the codes it is that lie there together), what it loaded.
    Index: TypeAlias = dict[str, tuple[Source, int, int, tuple[str, ...]]]

_FORMAT = 5
_LENGTH = 8
_OURS, _LIBRARY = 0, 1
_TOGETHER = -1
_LONGEST_NAME = 20
# How code that cannot be read shows itself.
_DAMAGED = (OSError, ValueError, EOFError, TypeError, IndexError)


class ImportCache:
    """The modules of one command, in front of the interpreter's own ways to find them."""

    def __init__(self, command: str, package: str) -> None:
        self._roots = (package, os.path.dirname(os.__file__))
        self._stamp = (_FORMAT, MAGIC_NUMBER, sys.hexversion, self._roots[_LIBRARY])
        self._name = f"{command}.{sys.implementation.cache_tag}-{sys.hexversion:x}.imports"
        self._codes = _Codes("", -1, 0)
        self._index: Index = {}
        self._stale: set[str] = set()
        self._before = set(sys.modules)
        self._started: list[str] = []
        self._patterns: Patterns = {}
        self._compiled: KeptPatterns | None = None
        for place in self._places():
            kept = _read(place, self._stamp)
            if kept is not None:
                self._index, self._patterns, self._codes = kept
                break

    def _places(self) -> Iterator[str]:
        """Where the file may lie; the later ones are worked out only if they are asked for."""
        package = self._roots[_OURS]
        if sys.pycache_prefix:
            yield f"{sys.pycache_prefix}{package}/{self._name}"
            return
        yield f"{package}/__pycache__/{self._name}"
        from redoma.base.paths import cache_home

        home = cache_home()
        if home:
            yield f"{home}/redoma/compiled{package}/{self._name}"

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module is, if its source is still what it was; what it needs is loaded first."""
        del path, target
        self._started.append(name)
        spec = self._spec(name)
        if spec is not None:
            try:
                self._load_needs(name)
            except Exception:
                return spec  # the import that asks for it will say why, where it can be answered
            assert isinstance(spec.loader, _Loader)
            # Two that load each other: the other one has loaded this one by now.
            spec.loader.loaded = sys.modules.get(name)
        return spec

    def _spec(self, name: str) -> ModuleSpec | None:
        entry = self._index.get(name)
        if entry is None:
            return None
        (root, below, package, time, size), start, end, _ = entry
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

    def _load_needs(self, name: str) -> None:
        _, _, _, needs = self._index[name]
        for needed in needs:
            self._load(needed)

    def _load(self, name: str) -> None:
        """Does what an import of a module does, unless that was done."""
        if name in sys.modules:
            return
        if not _thread._count():
            self._loaded(name)
            return
        # Another thread may be at it, and would wait here as well. An interpreter that has no
        # such lock loads the module as ever, when it is asked for.
        locked = getattr(_frozen_importlib, "_ModuleLockManager", None)
        if locked is not None:
            with locked(name):
                if name not in sys.modules:
                    self._loaded(name)

    def _loaded(self, name: str) -> None:
        parent, _, own = name.rpartition(".")
        if parent and parent not in sys.modules:
            return  # another path leads there
        self._started.append(name)
        spec = self._spec(name)
        if spec is None:
            return
        self._load_needs(name)
        if name in sys.modules:
            return  # by one of those, which load it in turn
        loader = spec.loader
        assert isinstance(loader, _Loader)
        code = loader.get_code(name)
        module = type(sys)(name)
        module.__dict__.update(
            __loader__=loader,
            __package__=name if spec.submodule_search_locations is not None else parent,
            __spec__=spec,
            __file__=spec.origin,
            __cached__=spec.cached,
        )
        if spec.submodule_search_locations is not None:
            module.__path__ = spec.submodule_search_locations
        sys.modules[name] = module
        spec._initializing = True  # type: ignore[attr-defined]
        try:
            exec(code, module.__dict__)  # type: ignore[arg-type] # noqa: S102
        except BaseException:
            sys.modules.pop(name, None)
            raise
        finally:
            spec._initializing = False  # type: ignore[attr-defined]
        # As the interpreter does it: the order of modules is that in which they were complete.
        sys.modules[name] = module = sys.modules.pop(name)
        if parent:
            setattr(sys.modules[parent], own, module)

    def give_patterns(self) -> None:
        """Has `re` take the expressions that an earlier start compiled."""
        from redoma.base.pattern_cache import KeptPatterns

        self._compiled = KeptPatterns(self._patterns)
        self._compiled.put_before_re()

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
        patterns = self._patterns | ({} if self._compiled is None else self._compiled.new())
        before = {name for name in known if self._index[name][1] == _TOGETHER}
        together = self._together(before, known & sys.modules.keys() | new.keys())
        nothing_new = not new and len(patterns) == len(self._patterns) and together == before
        if nothing_new or sys.dont_write_bytecode:
            return
        index: Index = {}
        codes: list[bytes] = []
        common: list[CodeType] = []
        end = 0
        loaded = _loaded_by(self._started)
        for name in (*known, *new):
            if name in new:
                source, code = new[name]
                needs = tuple(loaded.get(name, ()))
            else:
                source, first, last, needs = self._index[name]
                try:
                    code = self._codes.code(first, last)
                except _DAMAGED:
                    continue  # the next start loads it as ever, and it is kept anew then
            if name in together:
                index[name] = (source, _TOGETHER, len(common), needs)
                common.append(code)
            else:
                codes.append(marshal.dumps(code))
                index[name] = (source, end, end + len(codes[-1]), needs)
                end += len(codes[-1])
        codes.insert(0, marshal.dumps(tuple(common)))
        head = marshal.dumps((self._stamp, index, patterns, len(codes[0])))
        content = b"".join((len(head).to_bytes(_LENGTH, "little"), head, *codes))
        for place in self._places():
            if cache.keep_bytes(place, content):
                return

    @staticmethod
    def _together(before: set[str], loaded: set[str]) -> set[str]:
        """What the next start is to read at once: what every start so far has loaded.

        One that ends early, at a wrong option, says nothing of what the others need.
        """
        if len(before) < len(loaded) // 2:
            return loaded
        used = before & loaded
        return used if len(used) > len(before) // 2 else before

    def _source(self, name: str, module: ModuleType) -> tuple[Source, CodeType] | None:
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
        return None if code is None else (source, code)

    def _root(self, place: str) -> int | None:
        if place.startswith(self._roots[_OURS] + "/"):
            return _OURS
        # Only where nothing but the library itself can stand in for a part of it.
        library = self._roots[_LIBRARY] + "/"
        if sys.flags.isolated and place.startswith(library) and "-packages/" not in place:
            return _LIBRARY
        return None


def _loaded_by(started: list[str]) -> dict[str, list[str]]:
    """By module: the modules whose import it was that loaded them, in their order.

    Modules stand in `sys.modules` in the order in which they were complete; what began after a
    module and was complete before it was loaded by it, or by what it loaded.
    """
    complete = {name: place for place, name in enumerate(sys.modules)}
    open_ones: list[str] = []
    loaded: dict[str, list[str]] = {}
    for name in dict.fromkeys(each for each in started if each in complete):
        while open_ones and complete[open_ones[-1]] < complete[name]:
            open_ones.pop()
        if open_ones:
            loaded.setdefault(open_ones[-1], []).append(name)
        open_ones.append(name)
    return loaded


class _Loader(SourceFileLoader):
    """The interpreter's own loader, with the code at hand."""

    def __init__(self, name: str, place: str, codes: _Codes, start: int, end: int) -> None:
        super().__init__(name, place)
        self._codes = codes
        self._start = start
        self._end = end
        self.loaded: ModuleType | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        del spec
        return self.loaded

    def exec_module(self, module: ModuleType) -> None:
        if self.loaded is None:
            super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            return self._codes.code(self._start, self._end)
        except _DAMAGED:
            return super().get_code(fullname)


class _Codes:
    """The code behind the index: together what every start so far has loaded, the rest in pieces.

    Codes that are read together share their names, which saves a quarter of the time.
    """

    def __init__(self, place: str, fd: int, base: int, together: int = 0) -> None:
        self.place = place
        self._fd = fd
        self._base = base
        self._length = together
        self._together: tuple[CodeType, ...] | None = None

    def code(self, start: int, end: int) -> CodeType:
        """One module's code; an OSError or ValueError where the file was closed or cut."""
        if start != _TOGETHER:
            piece = os.pread(self._fd, end - start, self._base + self._length + start)
            code: CodeType = marshal.loads(piece)  # noqa: S302
            return code
        if self._together is None:
            whole = os.pread(self._fd, self._length, self._base)
            self._together = marshal.loads(whole)  # noqa: S302
        return self._together[end]

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def begin(arguments: list[str]) -> ImportCache | None:
    """The import cache of the command that a command line names, put to use; None without one."""
    command = arguments[0] if arguments else ""
    if (
        not command.isalpha()
        or not command.isascii()
        or len(command) > _LONGEST_NAME
        or sys.flags.optimize
    ):
        return None
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = ImportCache(command, package)
    sys.meta_path.insert(0, found)
    found.give_patterns()
    return found


def _read(place: str, stamp: tuple[object, ...]) -> tuple[Index, Patterns, _Codes] | None:
    fd = cache.opened(place)
    if fd is None:
        return None
    try:
        length = int.from_bytes(os.pread(fd, _LENGTH, 0), "little")
        if length <= os.fstat(fd).st_size:
            found, *rest = marshal.loads(os.pread(fd, length, _LENGTH))  # noqa: S302
            if found == stamp:
                index, patterns, together = rest
                return index, patterns, _Codes(place, fd, _LENGTH + length, together)
    except (OSError, ValueError, EOFError, TypeError):
        pass
    os.close(fd)
    return None
