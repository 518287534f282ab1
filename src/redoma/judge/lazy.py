"""Regular expressions that are compiled when first asked, since a cold hook asks few of them."""

from __future__ import annotations

import re

_ASKED = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


class _Waiting:
    """Stands for a pattern; the first question compiles it and is answered by it from then on."""

    __slots__ = ("_flags", "_text", *_ASKED)

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self._text, self._flags)
        for asked in _ASKED:
            setattr(self, asked, getattr(compiled, asked))
        return getattr(compiled, name)


def lazy(text: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that costs nothing until it is used."""
    return _Waiting(text, flags)  # type: ignore[return-value]
