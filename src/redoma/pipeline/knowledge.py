"""Reads cards and rule packs from their files, and keeps them compiled beside the code.

The compiled form lies in `__pycache__`, like the interpreter's own, and is trusted the same way:
who can change it can change the code. It is remade when a source or this format changes.
"""

from __future__ import annotations

import marshal
import os
import sys

from redoma.base.cache_home import cache_home
from redoma.judge.programs.knowledge import Knowledge
from redoma.judge.rules.pack import Pack
from redoma.model.risk import Listed, Risk
from redoma.pipeline.shelf import Shelf, keep, ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FORMAT = 5
PACKS = ("default", "terminal", "skill")
_JUDGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "judge")
_CARDS = os.path.join(_JUDGE, "programs", "cards")
_RULES = os.path.join(_JUDGE, "rules")
_held: dict[str, Any] = {}


def knowledge() -> Knowledge:
    """All that is known about programs."""
    if "cards" not in _held:
        stamp, (files,) = _sources([_CARDS])
        shelf = Shelf(stamp, _cache_places(_CARDS, "cards"), lambda: _read_cards(files))
        _held["cards"] = Knowledge(shelf.find)
    found: Knowledge = _held["cards"]
    return found


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


def _compiled(name: str, folders: list[str], read: Callable[[list[dict[str, str]]], Any]) -> Any:
    stamp, files = _sources(folders)
    places = _cache_places(folders[0], name)
    for path in places:
        kept = _kept(path)
        if kept is not None and kept[0] == stamp:
            return kept[1]
    data = read(files)
    content = marshal.dumps((stamp, data))
    for path in places:
        if keep(path, content):
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


def _kept(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            # Attack: in a shared directory another user could leave what we would believe.
            if not ours(file.fileno()):
                return None
            kept = marshal.loads(file.read())  # noqa: S302
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return kept if isinstance(kept, tuple) and len(kept) == 2 else None


def documents(files: dict[str, str]) -> dict[str, Any]:
    """The YAML of each file."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    out: dict[str, Any] = {}
    for name, path in files.items():
        with open(path, encoding="utf-8") as file:
            out[name] = yaml.load(file, Loader=loader)  # noqa: S506
    return out


def _read_cards(files: dict[str, str]) -> dict[str, bytes]:
    from redoma.judge.programs.compile import compile_cards

    # Each card is packed by itself: a call unpacks the one it needs out of a thousand.
    packed: dict[int, bytes] = {}
    cards = compile_cards(documents(files))
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
