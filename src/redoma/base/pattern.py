"""Regular expressions that are compiled when first asked, and only once for many cold starts.

A cold start asks few of them, and compiling those would cost it more than asking. What Python made
of an expression is kept in the import cache (`base/import_cache.py`), and put to use again by the
same Python; so `re` is not even loaded.
"""

from __future__ import annotations

from _sre import compile as _put_to_use  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any, AnyStr, TypeAlias

    Asked: TypeAlias = tuple[str | bytes, int]
    # The flags that hold, the code, how many groups there are, their numbers, their names.
    Made: TypeAlias = tuple[int, tuple[int, ...], int, dict[str, int], tuple[str | None, ...]]

_ASKED = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")

known: dict[Asked, Made] = {}
"""What earlier starts compiled, and this one adds to."""


class _Waiting:
    """Stands for a pattern; the first question compiles it and is answered by it from then on."""

    __slots__ = ("_flags", "_text", *_ASKED)

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        pattern: re.Pattern[Any] = compiled(self._text, self._flags)
        for asked in _ASKED:
            setattr(self, asked, getattr(pattern, asked))
        return getattr(pattern, name)


def lazy(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that costs nothing until it is used."""
    return _Waiting(text, flags)  # type: ignore[return-value]


def compiled(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that can be asked at once."""
    made = known.get((text, int(flags)))
    if made is not None:
        try:
            return _used(text, made)
        except (RuntimeError, TypeError, ValueError, OverflowError):
            pass  # it is no code: compiled anew below
    return _compiled(text, flags)


def _used(text: AnyStr, made: Made) -> re.Pattern[AnyStr]:
    put_to_use: Callable[..., re.Pattern[AnyStr]] = _put_to_use
    flags, code, groups, numbers, names = made
    return put_to_use(text, flags, list(code), groups, numbers, names)


def _compiled(text: AnyStr, flags: int) -> re.Pattern[AnyStr]:
    import re

    pattern = re.compile(text, flags)
    try:
        made = _taken_apart(text, int(flags))
        if _used(text, made) == pattern:
            known[text, int(flags)] = made
    except Exception:  # noqa: S110
        pass  # a Python that compiles in another way: each start compiles for itself
    return pattern


def _taken_apart(text: str | bytes, flags: int) -> Made:
    """What `re.compile` gives to the engine, which keeps it to itself."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(text, flags)
    numbers: dict[str, int] = dict(parsed.state.groupdict)
    names: list[str | None] = [None] * parsed.state.groups
    for name, number in numbers.items():
        names[number] = name
    code: list[int] = _compiler._code(parsed, flags)
    held = int(flags | parsed.state.flags)
    return held, tuple(map(int, code)), parsed.state.groups - 1, numbers, tuple(names)
