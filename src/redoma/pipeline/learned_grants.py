"""The smallest grants that would have sufficed for what a command reached."""

from __future__ import annotations

from redoma.model.network import WEB_PORTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.model.network import Connection

# More paths than these below one directory are granted by the directory.
_MOST_PATHS = 4
_NOT_IN_A_PATH = frozenset("*'?#;\\\"<>^`{|}")
_SAFE = ("GET", "HEAD")


def smallest(calls: Iterable[Connection]) -> tuple[str, ...]:
    """Host rules, as `--allow-host` reads them; of requests that were read, methods and paths."""
    hosts: dict[str, None] = {}
    requests: dict[str, dict[str, dict[str, None]]] = {}
    for call in calls:
        if not call.allowed or call.kind not in ("tcp", "http", "https"):
            continue
        place = _place(call)
        if not call.method:
            hosts[place] = None
            continue
        # `GET` is granted with `HEAD`.
        method = "GET" if call.method in _SAFE else call.method
        requests.setdefault(place, {}).setdefault(method, {})[call.path.partition("?")[0]] = None
    found = list(hosts)
    for place, methods in requests.items():
        if place not in hosts:
            found += _rules(place, methods)
    return tuple(found)


def _place(call: Connection) -> str:
    """A host as it is granted, with its port where that is not the web's."""
    return call.name if call.name and call.port in (0, *WEB_PORTS) else call.target


def _rules(place: str, methods: dict[str, dict[str, None]]) -> list[str]:
    """One rule for each set of paths that the same methods were used on."""
    by_paths: dict[tuple[str, ...], list[str]] = {}
    for method, paths in methods.items():
        by_paths.setdefault(_patterns(list(paths)), []).append(method)
    return [
        f"{','.join(sorted(named))} {place}{pattern}"
        for patterns, named in by_paths.items()
        for pattern in patterns
    ]


def _patterns(paths: list[str]) -> tuple[str, ...]:
    """Each path by itself; where they are many or cannot be written, the directory they share."""
    plain = all(_plain(path) for path in paths)
    if plain and len(paths) <= _MOST_PATHS:
        return tuple(sorted(paths))
    parts = [path.split("/")[1:-1] for path in paths if _plain(path)] or [[]]
    if not plain:
        parts.append([])
    shared = parts[0]
    for other in parts[1:]:
        same = [mine == its for mine, its in zip(shared, other, strict=False)]
        shared = shared[: same.index(False) if False in same else len(same)]
    return ("/".join(["", *shared, "**"]),)


def _plain(path: str) -> bool:
    """Whether a rule can name exactly this path."""
    parts = path.split("/")
    whole = path.startswith("/") and "//" not in path and not {".", ".."} & set(parts)
    return whole and path.isascii() and path.isprintable() and _NOT_IN_A_PATH.isdisjoint(path)
