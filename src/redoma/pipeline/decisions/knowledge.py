"""Reads cards and rule packs from their files, and keeps them compiled beside the code.

The compiled form lies in `__pycache__`, like the interpreter's own, and is trusted the same way:
who can change it can change the code. It is remade when a source or this format changes.

The cards lie in one file, and each is read when its program is met: reading all of them takes a
cold start as long as its judgement, which needs one of a thousand. The file begins with a name of
its own and a list of what lies where; then come the cards.
"""

from __future__ import annotations

import marshal
import os
import sys

from redoma.base import cache
from redoma.base.paths import cache_home
from redoma.judge.programs.knowledge import Knowledge
from redoma.judge.rules.pack import Pack
from redoma.model.decision import Listed, Risk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

FORMAT = 9
_NAME = 16
_LENGTH = 8
_TRIES = 5


class CardCache:
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
            if cache.keep_bytes(path, content, mode=0o644) and self._take(path):
                return
        self._made = made

    def _take(self, path: str) -> bool:
        fd = cache.opened(path)
        if fd is None:
            return False
        try:
            head = os.pread(fd, _NAME + _LENGTH, 0)
            length = int.from_bytes(head[_NAME:], "little")
            if length > os.fstat(fd).st_size:
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
    fd = cache.opened(path)
    if fd is None:
        return None
    try:
        if os.pread(fd, _NAME, 0) != name:
            return None
        piece = os.pread(fd, end - start, start)
        return piece if len(piece) == end - start else None
    except OSError:
        return None
    finally:
        os.close(fd)


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


PACKS = ("default", "terminal", "skill")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_JUDGE = os.path.join(_PACKAGE, "judge")
_CARDS = os.path.join(_JUDGE, "programs", "cards")
_VARIABLES = os.path.join(_JUDGE, "programs", "variables")
_RULES = os.path.join(_JUDGE, "rules")
_held: dict[str, Any] = {}


_own: dict[tuple[tuple[str, bytes], ...], Knowledge] = {}
_MOST_OWN = 16


def knowledge(own: tuple[tuple[str, bytes], ...] = ()) -> Knowledge:
    """All that is known about programs; a packed card of one's `own` stands before one that ships.

    The cards of one's own come with the policy, and with the identity of every file of theirs: so
    what is cached here never hides one that changed.
    """
    if "cards" not in _held:
        stamp, (files, variables) = _sources([_CARDS, _VARIABLES])
        places = _cache_places(_CARDS, "cards")
        cards = CardCache(stamp, places, lambda: _read_cards(files, variables))
        _held["find"], _held["cards"] = cards.find, Knowledge(cards.find)
    if not own:
        found: Knowledge = _held["cards"]
        return found
    if own not in _own:
        if len(_own) >= _MOST_OWN:
            _own.clear()
        mine, shipped = dict(own), _held["find"]
        _own[own] = Knowledge(lambda name: mine.get(name) or shipped(name))
    return _own[own]


def shipped_cards() -> dict[str, Any]:
    """The card files that ship, as they are written."""
    return documents(_sources([_CARDS])[1][0])


def shipped_variables() -> dict[str, Any]:
    """The files of variables that ship, as they are written."""
    return documents(_sources([_VARIABLES])[1][0])


def pack(name: str) -> Pack:
    """A rule pack by its name."""
    if name not in PACKS:
        from redoma.model.errors import UnknownPack

        raise UnknownPack(name, PACKS)
    if name not in _held:
        folders = [os.path.join(_RULES, each) for each in dict.fromkeys((name, "default"))]
        _held[name] = Pack(_compiled(name, folders, lambda files: _read_pack(name, files)))
    found: Pack = _held[name]
    return found


def rules(name: str) -> tuple[Listed, ...]:
    """The rules of a pack that name commands, with the risk they give, in the order they count."""
    groups = pack(name).rules.get("calls", ())
    return tuple(
        Listed(
            rule=rule,
            risk=Risk(risk),
            commands=tuple(" ".join((*words, *flags)) for words, flags in commands or ()),
            reason=reason,
        )
        for group in groups
        for rule, risk, *_, reason, _, commands in group
        if risk >= 0
    )


rules.__module__ = "redoma"


def _compiled(name: str, folders: list[str], read: Callable[[list[dict[str, str]]], Any]) -> Any:
    stamp, files = _sources(folders)
    places = _cache_places(folders[0], name)
    for path in places:
        kept = cache.read(path, stamp)
        if kept is not None:
            return kept
    data = read(files)
    for path in places:
        if cache.keep(path, stamp, data, mode=0o644):
            break
    return data


def _sources(folders: list[str]) -> tuple[tuple[Any, ...], list[dict[str, str]]]:
    """What the compiled form has to be made from, as a stamp, and where each file lies."""
    listed: list[list[tuple[str, int, int]]] = []
    for folder in folders:
        with os.scandir(folder) as entries:
            stats = [(e.name, e.stat()) for e in entries if e.name.endswith(".yaml")]
        listed.append(sorted((n, s.st_mtime_ns, s.st_size) for n, s in stats))
    stamp = (FORMAT, sys.version_info[:2], tuple(map(tuple, listed)))
    named = [
        {n: os.path.join(folder, n) for n, *_ in names}
        for folder, names in zip(folders, listed, strict=True)
    ]
    return stamp, named


def _cache_places(folder: str, name: str) -> list[str]:
    """Beside the sources, or for a package that someone else installed, in the user's own cache."""
    if sys.pycache_prefix:
        return [os.path.join(sys.pycache_prefix + folder, f"{name}.compiled")]
    beside = os.path.join(folder, "__pycache__", f"{name}.compiled")
    home = cache_home()
    if not home:
        return [beside]
    return [beside, os.path.join(home, "redoma", "compiled" + folder, f"{name}.compiled")]


def documents(files: dict[str, str]) -> dict[str, Any]:
    """The YAML of each file."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    out: dict[str, Any] = {}
    for name, path in files.items():
        with open(path, encoding="utf-8") as file:
            out[name] = yaml.load(file, Loader=loader)  # noqa: S506
    return out


def _read_cards(files: dict[str, str], variables: dict[str, str]) -> dict[str, bytes]:
    from redoma.judge.programs.compiler import compile_cards, compile_variables

    # Each card is packed by itself: a call unpacks the one it needs out of a thousand.
    packed: dict[int, bytes] = {}
    cards = {**compile_cards(documents(files)), **compile_variables(documents(variables))}
    for card in cards.values():
        packed.setdefault(id(card), marshal.dumps(card))
    return {name: packed[id(card)] for name, card in cards.items()}


def _read_pack(name: str, files: list[dict[str, str]]) -> dict[str, Any]:
    from redoma.judge.rules.compile import compile_pack

    own = documents(files[0])
    head = own.pop("pack.yaml")
    inherited: dict[str, Any] = {}
    if head.get("inherit"):
        inherited = documents(files[1])
        inherited.pop("pack.yaml")
    return compile_pack(name, head, own, inherited)
